import Basics
import Testing

@testable import Peer

@Suite("Received audio") struct AudioReceiverTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    /// Opus is 111, redundant audio 63.
    private static func receiver() -> AudioReceiver {
        var section = NegotiatedSection(mid: "0", kind: .audio)
        var opus = NegotiatedCodec(
            name: .opus, payloadType: 111, clockRate: 48_000, parameters: FormatParameters(), feedback: [])
        opus.redPayloadType = 63
        section.codecs = [opus]
        var receiver = AudioReceiver()
        receiver.configure(section)
        return receiver
    }

    private func receive(
        _ payload: [UInt8], type: UInt8 = 111, sequence: UInt16, ssrc: UInt8 = 9, _ receiver: inout AudioReceiver,
        _ clock: inout SenderClock
    ) throws {
        // A packet each 1024 samples.
        var packet: [UInt8] = [
            0x80, type, UInt8(sequence >> 8), UInt8(truncatingIfNeeded: sequence), 0, 0, UInt8(sequence * 4), 0, 0, 0,
            0, ssrc,
        ]
        packet += payload
        let header = try RTPHeader(parsing: packet.span)
        receiver.receive(header, packet.span, clock: &clock, at: Self.start + .milliseconds(Int(sequence) * 20))
    }

    @Test("A packet is delivered once, with its numbers and without earlier ones")
    func packets() throws {
        var (receiver, clock) = (Self.receiver(), SenderClock())
        for sequence in 1...3 as ClosedRange<UInt16> { try receive([1, 2], sequence: sequence, &receiver, &clock) }
        let packets = receiver.takePackets()
        #expect(packets.map(\.sequence).map { $0 - packets[0].sequence } == [0, 1, 2])
        #expect(packets.allSatisfy { $0.payload == [1, 2] && $0.ssrc == 9 && !$0.isCopy })
        #expect(receiver.takePackets().isEmpty)
    }

    @Test("Redundant audio is delivered as a copy of the packet before and the packet itself")
    func redundancy() throws {
        var (receiver, clock) = (Self.receiver(), SenderClock())
        // A copy of one byte, 960 samples earlier (15 × 64).
        try receive([0x80 | 111, 15, 0, 1, 111, 7, 8], type: 63, sequence: 5, &receiver, &clock)
        let packets = receiver.takePackets()
        #expect(packets.map(\.payload) == [[7], [8]])
        #expect(packets.map(\.isCopy) == [true, false])
        #expect(packets[1].timestamp - packets[0].timestamp == 960)
        #expect(packets[1].captureTime - packets[0].captureTime == .milliseconds(20))
    }

    @Test("Truncated redundant audio is counted and dropped")
    func malformed() throws {
        var (receiver, clock) = (Self.receiver(), SenderClock())
        try receive([0x80 | 111, 0], type: 63, sequence: 5, &receiver, &clock)
        #expect(receiver.malformed == 1)
        #expect(receiver.takePackets().isEmpty)
    }

    @Test("A new SSRC is a new stream, and an evicted one is forgotten")
    func sources() throws {
        var (receiver, clock) = (Self.receiver(), SenderClock())
        try receive([1], sequence: 1, ssrc: 9, &receiver, &clock)
        try receive([1], sequence: 2, ssrc: 10, &receiver, &clock)
        #expect(receiver.ssrc == 10)
        receiver.forget(ssrc: 9)
        #expect(receiver.ssrc == 10)
        receiver.forget(ssrc: 10)
        #expect(receiver.ssrc == nil)
        let isKnown = receiver.receive(SenderReport(ssrc: 10, ntpTime: 1, rtpTimestamp: 1), at: Self.start)
        #expect(!isKnown)
    }
}
