import Basics
import Simulation
import Testing

@testable import Peer

/// A connected peer whose reports no receiver would send.
@Suite("Reports of a hostile peer")
struct HostileReportTests {
    /// The call continues as before.
    private func goesOn(_ call: SimulatedCall) {
        let start = call.now
        call.run(for: .seconds(2))
        #expect(call.areConnected)
        #expect(call.frames(.client, since: start) > 40)
        #expect(call.frames(.server, since: start) > 40)
        #expect(call.audioPackets(.client, since: start) > 90)
    }

    private static func packet(_ first: UInt8, _ type: UInt8, _ words: [UInt32]) -> [UInt8] {
        var bytes: [UInt8] = [first, type]
        bytes.append16(UInt16(words.count))
        for word in words { bytes.append32(word) }
        return bytes
    }

    @Test("Every exponent of TMMBR and REMB, with the extreme mantissas and overheads, about the stream that we send")
    func everyRate() throws {
        let call = try SimulatedCall.connected(seed: 1, for: .seconds(2))
        let ours = call.server.sender.video.stream.ssrc.rawValue
        for exponent in UInt32(0)..<64 {
            for mantissa in [0, 1, 0x1_0000, 0x1_FFFF] as [UInt32] {
                for overhead in [0, 1, 40, 511] as [UInt32] {
                    let limit = exponent << 26 | mantissa << 9 | overhead
                    FuzzBodies.plain(Self.packet(0x83, 205, [77, 0, ours, limit]), into: call.server, at: call.now)
                    #expect(call.server.estimate >= .zero && call.server.estimate <= .megabits(5))
                }
                let rate = 1 << 24 | exponent << 18 | mantissa << 1
                FuzzBodies.plain(
                    Self.packet(0x8F, 206, [77, 0, 0x5245_4D42, rate, ours]), into: call.server, at: call.now)
                #expect(call.server.estimate >= .zero && call.server.estimate <= .megabits(5))
                call.run(for: .milliseconds(20))
            }
        }
        FuzzBodies.plain(Self.packet(0x81, 203, [77]), into: call.server, at: call.now)
        goesOn(call)
    }

    @Test("Rates of 100 Gbit/s and more are as good as no limit", arguments: [17, 18])
    func largest(mantissaBits: Int) {
        let packing = FloatingBitRate(mantissaBits: mantissaBits)
        for exponent in UInt32(0)..<64 {
            for mantissa in [0, 1, (1 << UInt32(mantissaBits)) - 1] as [UInt32] {
                let rate = packing.rate(exponent << UInt32(mantissaBits) | mantissa)
                #expect(rate >= .zero && rate <= FloatingBitRate.most)
                #expect((rate == .zero) == (mantissa == 0))
            }
        }
    }

    @Test(
        "Reports, requests and extended reports with the largest and smallest numbers, about our streams and in any framing"
    )
    func extremes() throws {
        let call = try SimulatedCall.connected(seed: 2, for: .seconds(2))
        let video = call.server.sender.video.stream.ssrc.rawValue
        let audio = call.server.sender.audio.stream.ssrc.rawValue
        let theirs = try #require(call.server.negotiated?.section(.video)?.remoteSources.first).ssrc.rawValue
        var packets: [[UInt8]] = []
        let ends: [UInt32] = [0, 1, 0x7FFF_FFFF, 0x8000_0000, .max]
        for value in ends {
            for ssrc in [video, audio, theirs] {
                // Receiver and sender reports: loss, highest number, jitter, LSR, DLSR.
                packets.append(Self.packet(0x81, 201, [77, ssrc, value, value, value, value, value]))
                packets.append(
                    Self.packet(
                        0x81, 200, [theirs, value, value, value, value, value, ssrc, value, value, value, value, value])
                )
                packets.append(Self.packet(0x84, 206, [77, 0, ssrc, value]))
                packets.append(Self.packet(0x81, 206, [77, ssrc]))
                packets.append(Self.packet(0x8F, 205, [77, ssrc, value, value, value]))
                packets.append(Self.packet(0x81, 205, [77, ssrc, value, value]))
            }
            // A time of ours, and answers to one.
            packets.append(Self.packet(0x80, 207, [77, 0x0400_0002, value, value]))
            packets.append(Self.packet(0x80, 207, [77, 0x0500_0003, video, value, value]))
            packets.append(Self.packet(0x80, 207, [77, 0x0500_FFFF, value]))
        }
        for type in UInt8(192)...223 { packets.append(Self.packet(0x9F, type, [video, .max, 0, .max])) }
        for bytes in packets {
            FuzzBodies.plain(bytes, into: call.server, at: call.now)
            call.run(for: .milliseconds(10))
        }
        // Lengths that do not add up, alone and behind what does.
        for length in [0, 1, 2, 0x7FFF, 0xFFFF] {
            var bytes = Self.packet(0x81, 206, [77, video])
            bytes += [0x81, 206, UInt8(length >> 8), UInt8(length & 255)]
            FuzzBodies.plain(bytes, into: call.server, at: call.now)
            FuzzBodies.plain(Array(bytes.dropFirst(12)), into: call.server, at: call.now)
        }
        call.run(for: .seconds(6))
        goesOn(call)
    }

    /// As many feedbacks as fit a datagram, each of them about all numbers that there are, none of which arrived.
    private static func lies(base: SequenceNumber) -> [UInt8] {
        var one = packet(0x8F, 205, [77, 1, UInt32(base.rawValue) << 16 | 65_528, 0])
        for _ in 0..<8 { one.append16(8191) }
        one[2] = 0
        one[3] = 8
        return (0..<40).reduce(into: []) { bytes, _ in bytes += one }
    }

    @Test("A feedback visits each packet that we sent once, whatever it claims to cover")
    func feedbackSpan() throws {
        let call = try SimulatedCall.connected(seed: 3, for: .seconds(2))
        let history = call.server.sender.estimator.history
        let base = history.nextSequence + -32_000
        FuzzBodies.plain(Array(Self.lies(base: base).prefix(36)), into: call.server, at: call.now)
        let once = call.server.sender.estimator.history.walked - history.walked
        #expect(once > 0 && once < 2000, "\(once)")
        // Numbers that were never sent are not visited.
        let before = call.server.sender.estimator.history.walked
        FuzzBodies.plain(Array(Self.lies(base: history.nextSequence + 500).prefix(36)), into: call.server, at: call.now)
        #expect(call.server.sender.estimator.history.walked - before < 2000)
        goesOn(call)
    }

    @Test(
        "Feedback, NACKs and reports that cause too much work are skipped, and a peer that continues is ended; no other budget is touched"
    )
    func work() throws {
        for flood in [Self.lies(base: 1), Self.packet(0x81, 205, [77, 5] + (0..<290).map { $0 << 16 | 0xFFFF })] {
            let call = try SimulatedCall.connected(seed: 4, for: .seconds(2))
            var ended: String?
            call.onEvent = { _, side, event in
                if side == .server, case .overBudget(let reason) = event { ended = reason }
            }
            let start = call.now
            while ended == nil, call.now - start < .seconds(30) {
                for _ in 0..<10 {
                    FuzzBodies.plain(flood, into: call.server, at: call.now, keepingEvents: true)
                }
                call.run(for: .milliseconds(50))
                call.settle()
            }
            #expect(ended?.contains("reports") == true)
            #expect((8...14).contains((call.now - start).inSeconds), "\(call.now - start)")
            #expect(call.server.isEnded)
            #expect(call.server.statistics(at: call.now).skippedReports > 500)
        }
    }
}
