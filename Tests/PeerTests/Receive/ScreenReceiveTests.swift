import Basics
import Testing

@testable import Peer

/// Two pictures of one peer, told apart by MID, each with its own repair and requests.
@Suite struct ScreenReceiveTests {
    private let start = Instant.zero

    private func session() throws -> NegotiatedSession {
        var configuration = SDPFixtures.configuration()
        configuration.acceptsScreen = true
        var negotiation = Negotiation(configuration: configuration)
        var offer = try SDPFixtures.parsed("chromium156-reneg-add-screen")
        // Without sources: the packets' MID must do.
        for index in offer.media.indices {
            offer.media[index].ssrcs = []
            offer.media[index].ssrcGroups = []
        }
        return try negotiation.answer(offer, newCredentials: SDPFixtures.credentials).1
    }

    /// A VP8 packet; a keyframe of 64 × 64 pixels in one packet where `isKeyframe`.
    private func packet(
        _ section: NegotiatedSection, ssrc: UInt32, sequence: UInt16, timestamp: UInt32, isKeyframe: Bool = true
    ) throws -> [UInt8] {
        let codec = try #require(section.codecs.first { $0.name == .vp8 })
        let mid = try #require(section.headerExtensions.mid)
        let text = Array(try #require(section.mid).utf8)
        var bytes: [UInt8] = [0x90, 0x80 | codec.payloadType, UInt8(sequence >> 8), UInt8(sequence & 0xFF)]
        for value in [timestamp, ssrc] { for shift in [24, 16, 8, 0] { bytes.append(UInt8(value >> shift & 0xFF)) } }
        // One one-byte extension (RFC 8285 §4.2).
        bytes += [0xBE, 0xDE, 0, 1, mid << 4 | UInt8(text.count - 1)] + text
        bytes += [UInt8](repeating: 0, count: 3 - text.count)
        // The descriptor with S, then the frame's tag, the start code and the size.
        bytes += [0x10] + (isKeyframe ? [0x10, 0, 0, 0x9D, 0x01, 0x2A, 64, 0, 64, 0] : [0x11, 0, 0, 0, 0])
        return bytes
    }

    private func give(_ bytes: [UInt8], to receiver: inout MediaReceiver, at now: Instant) {
        bytes.withUnsafeBytes { receiver.receive($0, at: now) }
    }

    @Test func eachPictureHasItsFramesItsRepairAndItsRequests() throws {
        let session = try session()
        let camera = try #require(session.section(.video)), screen = try #require(session.screen)
        var receiver = MediaReceiver(VideoReceiveConfiguration())
        receiver.configure(session, at: start)
        for number in UInt16(0)..<3 {
            let now = start + .milliseconds(Int64(number) * 40)
            let time = UInt32(number) * 3600
            give(try packet(camera, ssrc: 11, sequence: number, timestamp: time), to: &receiver, at: now)
            // The screen loses its second packet.
            if number == 1 { continue }
            give(
                try packet(screen, ssrc: 22, sequence: number, timestamp: time, isKeyframe: number == 0),
                to: &receiver, at: now)
        }
        let now = start + .milliseconds(200)
        receiver.advance(to: now, roundTrip: .milliseconds(50))
        #expect(receiver.takeFrames().count == 3)
        #expect(receiver.takeScreenFrames().count == 1)
        #expect(receiver.mediaSSRCs == [11, 22])
        let nacks = receiver.makeFeedback(senderSSRC: 1, at: now).compactMap { packet in
            if case .nack(let nack) = packet { nack.mediaSSRC } else { nil }
        }
        #expect(nacks == [22])

        receiver.requestKeyframe(of: .screen)
        let requests = receiver.makeFeedback(senderSSRC: 1, at: now + .seconds(1)).compactMap { packet in
            if case .pictureLoss(let request) = packet { request.mediaSSRC } else { nil }
        }
        #expect(requests == [22])
        #expect(receiver.statistics(at: now).video.frames == 3 && receiver.screenStatistics(at: now).frames == 1)
        #expect(receiver.makeReportBlocks(at: now).map(\.ssrc).sorted() == [11, 22])
    }

    @Test func aScreenThatEndedIsReceivedNoMoreAndComesBackUnderAnotherSource() throws {
        var session = try session()
        let screen = try #require(session.screen)
        var receiver = MediaReceiver(VideoReceiveConfiguration())
        receiver.configure(session, at: start)
        give(try packet(screen, ssrc: 22, sequence: 1, timestamp: 0), to: &receiver, at: start)
        #expect(receiver.takeScreenFrames().count == 1)

        let index = try #require(session.sections.firstIndex { $0.isScreen })
        session.sections[index].direction = .inactive
        receiver.configure(session, at: start)
        give(try packet(screen, ssrc: 22, sequence: 2, timestamp: 3600), to: &receiver, at: start)
        #expect(receiver.takeScreenFrames().isEmpty && receiver.takeFrames().isEmpty)

        session.sections[index].direction = .receiveOnly
        receiver.configure(session, at: start)
        give(try packet(screen, ssrc: 33, sequence: 9, timestamp: 900), to: &receiver, at: start + .seconds(1))
        #expect(receiver.takeScreenFrames().count == 1)
    }
}
