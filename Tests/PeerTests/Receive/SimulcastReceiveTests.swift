import Basics
import Testing

@testable import Peer

@Suite("Simulcast layers of one sender") struct SimulcastReceiveTests {
    private static func negotiated() throws -> NegotiatedSession {
        var negotiation = Negotiation(configuration: SDPFixtures.configuration())
        return try negotiation.answer(
            SDPFixtures.parsed("chromium156-av-simulcast"), newCredentials: SDPFixtures.credentials
        ).1
    }

    /// One-packet VP8 keyframes on each layer, as a sender sends them on request.
    private struct Sender {
        let section: NegotiatedSection
        var sequence: SequenceNumber = 100
        var now = Instant(nanoseconds: 1_000_000_000)

        mutating func send(_ layers: [(rid: Int, ssrc: SSRC)], into receiver: inout MediaReceiver) {
            sequence += 1
            now += .milliseconds(40)
            guard let codec = section.codecs.first(where: { $0.name.video == .vp8 }) else { return }
            for (rid, ssrc) in layers {
                let height = 180 << rid
                var bytes = [UInt8](repeating: 0, count: 300)
                let length = bytes.withUnsafeMutableBytes { buffer in
                    var writer = RTPPacketWriter(
                        buffer, marker: true, payloadType: codec.payloadType, sequence: sequence,
                        timestamp: RTPTimestamp(wrapping: now.ticks(at: 90_000)), ssrc: ssrc)
                    if let id = section.headerExtensions.mid { writer.addExtension(id, section.mid ?? "") }
                    if let id = section.headerExtensions.rid { writer.addExtension(id, section.remoteRIDs[rid]) }
                    for byte: UInt8 in [
                        0x10, 0x10, 0, 0, 0x9D, 1, 0x2A, 64, 1, UInt8(height & 255), UInt8(height >> 8), 0,
                    ] {
                        writer.append(byte)
                    }
                    return writer.finish()
                }
                bytes[..<(length ?? 0)].withUnsafeBytes { receiver.receive($0, at: now) }
            }
            receiver.advance(to: now, roundTrip: .milliseconds(40))
        }
    }

    /// A receiver that has agreed on layers, and their sender.
    private struct Pair: ~Copyable {
        var receiver = MediaReceiver(VideoReceiveConfiguration())
        var sender: Sender

        init() throws {
            let session = try SimulcastReceiveTests.negotiated()
            let section = try #require(session.section(.video))
            try #require(section.remoteRIDs.count >= 2)
            sender = Sender(section: section)
            receiver.configure(session, at: .zero)
        }

        mutating func send(_ layers: [(rid: Int, ssrc: SSRC)], times: Int) {
            for _ in 0..<times { sender.send(layers, into: &receiver) }
        }

        /// The frames that came since the last call.
        mutating func takeHeights() -> [Int] { receiver.takeFrames().map(\.frame.height) }
    }

    @Test("The best layer is chosen, and a small tile gets the smallest that fills it")
    func choice() throws {
        var pair = try Pair()
        let count = pair.sender.section.remoteRIDs.count
        let layers = (0..<count).map { (rid: $0, ssrc: SSRC(UInt32(1000 + $0))) }
        pair.send(layers, times: 10)
        #expect(pair.takeHeights().last == 180 << (count - 1))
        pair.receiver.setWantedHeight(90, of: .camera, at: pair.sender.now)
        pair.send(layers, times: 5)
        #expect(pair.takeHeights().last == 180)
        pair.receiver.setWantedHeight(181, of: .camera, at: pair.sender.now)
        pair.send(layers, times: 5)
        #expect(pair.takeHeights().last == 360)
    }

    @Test("A layer that falls silent is replaced by one that arrives")
    func silence() throws {
        var pair = try Pair()
        let count = pair.sender.section.remoteRIDs.count
        let layers = (0..<count).map { (rid: $0, ssrc: SSRC(UInt32(1000 + $0))) }
        pair.send(layers, times: 10)
        _ = pair.takeHeights()
        pair.send([layers[0]], times: 80)
        #expect(pair.takeHeights().last == 180)
    }

    @Test("A new SSRC on a layer is a new stream and continues at its keyframe")
    func newSource() throws {
        var pair = try Pair()
        pair.send([(0, 1000)], times: 5)
        #expect(pair.takeHeights().count == 5)
        pair.sender.sequence = 40_000
        pair.send([(0, 2000)], times: 5)
        #expect(pair.takeHeights().count == 5)
    }
}
