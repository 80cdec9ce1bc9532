import Basics
import Testing

@testable import Peer

/// What libsrtp takes once, twice and never, by the rules of RFC 3711 §3.3.1 and §3.3.2 and the window that we set.
@Suite struct SRTPReplayTests: SRTPPackets {
    @Test(arguments: SRTPProfile.allCases)
    func `It agrees with a set of all that were there, over random orders, jumps and a wrap`(
        profile: SRTPProfile
    ) throws {
        let (a, b) = keys(profile)
        let sender = try SRTPContext(a)
        let receiver = try SRTPContext(b)
        let first = 62_000
        let sent = try (0..<9000).map {
            try apply(rtp(UInt16(truncatingIfNeeded: first + $0), payload: [1]), sender.protectRTP)
        }
        var random = SeededRandom(seed: 3711)
        var seen: Set<Int> = []
        var highest = 0
        var refused = 0
        while true {
            let step = Int.random(in: 0..<500, using: &random) == 0 ? 1500 : Int.random(in: -1300...20, using: &random)
            let place = max(0, highest + step)
            guard place < sent.count else { break }
            let isFine = !seen.contains(place) && place + SRTPSession.replayWindow > highest
            do throws(SRTPError) {
                _ = try apply(sent[place], receiver.unprotectRTP)
                if !isFine { Issue.record("\(place) was taken, the newest is \(highest)") }
                seen.insert(place)
                highest = max(highest, place)
            } catch {
                if isFine || error != .replayed { Issue.record("\(place): \(error), the newest is \(highest)") }
                refused += 1
            }
        }
        #expect(refused > 200 && seen.count > 500)
        #expect(receiver.statistics.replayed == refused && receiver.statistics.unprotected == seen.count)
    }

    @Test(arguments: SRTPProfile.allCases)
    func `Nothing comes before rollover counter 0`(profile: SRTPProfile) throws {
        let (a, b) = keys(profile)
        let receiver = try SRTPContext(b)
        for sequence in [100, 65_500, 0] as [UInt16] {
            // 65 500 is no late packet of before 100, and 0 no late one of before 65 500 but the next after it.
            let sender = try SRTPContext(a)
            if sequence == 0 { _ = try apply(rtp(65_500), sender.protectRTP) }
            #expect(try apply(try apply(rtp(sequence), sender.protectRTP), receiver.unprotectRTP) == rtp(sequence))
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `Reports that are late by less than 128 are accepted once`(profile: SRTPProfile) throws {
        let (a, b) = keys(profile)
        let sender = try SRTPContext(a)
        let receiver = try SRTPContext(b)
        let sent = try (0..<200).map { _ in try apply(rtcp(), sender.protectRTCP) }
        _ = try apply(sent[199], receiver.unprotectRTCP)
        for place in (0..<199).shuffled() {
            if place > 199 - 128 {
                #expect(try apply(sent[place], receiver.unprotectRTCP) == rtcp())
            }
            #expect(throws: SRTPError.replayed) { try apply(sent[place], receiver.unprotectRTCP) }
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `Reports and media of a source have windows of their own`(profile: SRTPProfile) throws {
        let (a, b) = keys(profile)
        let sender = try SRTPContext(a)
        let receiver = try SRTPContext(b)
        // The stream begins with a report, and its media not at the start.
        _ = try apply(try apply(rtcp(ssrc: 7), sender.protectRTCP), receiver.unprotectRTCP)
        #expect(try apply(try apply(rtp(40_000, ssrc: 7), sender.protectRTP), receiver.unprotectRTP).count == 52)
        #expect(try apply(try apply(rtcp(ssrc: 7), sender.protectRTCP), receiver.unprotectRTCP) == rtcp(ssrc: 7))
    }
}
