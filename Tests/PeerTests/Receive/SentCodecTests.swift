import Basics
import Testing

@testable import Peer

/// AV1, which is sent and not received.
@Suite("A codec that is only sent")
struct SentCodecTests {
    private func negotiated(_ fixture: String) throws -> (answer: SessionDescription, session: NegotiatedSession) {
        var configuration = SDPFixtures.configuration()
        configuration.acceptsScreen = true
        configuration.videoCodecs = [.h264, .vp8, .av1]
        var negotiation = Negotiation(configuration: configuration)
        var offer = try SDPFixtures.parsed(fixture)
        for index in offer.media.indices { (offer.media[index].ssrcs, offer.media[index].ssrcGroups) = ([], []) }
        return try negotiation.answer(offer, newCredentials: SDPFixtures.credentials)
    }

    @Test("stands last in the answer for the camera, and not in that for the screen")
    func answer() throws {
        let (answer, session) = try negotiated("chromium156-reneg-add-screen")
        let camera = try #require(session.section(.video)), screen = try #require(session.screen)
        #expect(camera.codecs.first?.name == .h264 && camera.codecs.last?.name == .av1)
        #expect(screen.codecs.allSatisfy { $0.name != .av1 })
        let videos = answer.media.filter { $0.kind == .video }
        #expect(videos.map { media in media.codecs.contains { $0.isNamed("av1") } } == [true, false])
    }

    @Test("what comes in it is not kept, and not repaired; the other codecs come as before")
    func received() throws {
        let (_, session) = try negotiated("chromium156-reneg-add-screen")
        let camera = try #require(session.section(.video))
        var receiver = MediaReceiver(VideoReceiveConfiguration())
        receiver.configure(session, at: .zero)
        let mid = try #require(camera.headerExtensions.mid), text = Array(try #require(camera.mid).utf8)
        func give(_ name: NegotiatedCodec.Name, sequence: UInt16, payload: [UInt8]) throws {
            let type = try #require(camera.codecs.first { $0.name == name }).payloadType
            var bytes: [UInt8] = [0x90, 0x80 | type, UInt8(sequence >> 8), UInt8(sequence & 0xFF)]
            bytes += [0, 0, UInt8(truncatingIfNeeded: sequence), 0, 0, 0, 0, 11]
            bytes +=
                [0xBE, 0xDE, 0, 1, mid << 4 | UInt8(text.count - 1)] + text
                + [UInt8](repeating: 0, count: 3 - text.count)
            bytes += payload
            bytes.withUnsafeBytes { receiver.receive($0, at: .zero + .milliseconds(Int64(sequence) * 33)) }
        }
        for sequence in UInt16(0)..<200 { try give(.av1, sequence: sequence, payload: [0x18, 0x0A, 1, 0, 0x30, 7]) }
        receiver.advance(to: .zero + .seconds(7), roundTrip: .milliseconds(50))
        #expect(receiver.takeFrames().isEmpty)
        let asked = receiver.makeFeedback(senderSSRC: 1, at: .zero + .seconds(7)).filter { packet in
            switch packet {
            case .nack, .fullIntraRequest: true
            default: false
            }
        }
        #expect(asked.isEmpty, "\(asked)")
        try give(.vp8, sequence: 300, payload: [0x10, 0x10, 0, 0, 0x9D, 0x01, 0x2A, 64, 0, 64, 0])
        receiver.advance(to: .zero + .seconds(10), roundTrip: .milliseconds(50))
        #expect(receiver.takeFrames().count == 1)
    }
}
