import Basics
import Simulation
import Testing

@testable import Peer

@Suite("Audio that is sent twice (RFC 2198)")
struct RedundantAudioTests {
    /// A packet of Chromium: one copy of 3 bytes, 960 ticks old, and a payload of 2.
    static let chromium: [UInt8] = [
        0xEF, 0x0F, 0x00, 0x03,  // F = 1, 111; offset 960 = 0x3C0 in 14 bits, length 3 in 10
        0x6F,  // F = 0, 111
        0x78, 1, 2,  // the copy
        0x78, 9,  // the newest
    ]

    private static func parse(_ bytes: [UInt8]) -> [RedundantAudio.Block]? {
        RedundantAudio(parsing: bytes.span)?.blocks
    }

    @Test func `A copy and the newest payload are found`() {
        #expect(
            Self.parse(Self.chromium) == [
                .init(payloadType: 111, timestampOffset: 960, range: 5..<8),
                .init(payloadType: 111, timestampOffset: 0, range: 8..<10),
            ])
    }

    @Test func `Any number of copies is accepted, up to a bound`() {
        #expect(Self.parse([0x6F, 0x78]) == [.init(payloadType: 111, timestampOffset: 0, range: 1..<2)])
        let copy: [UInt8] = [0xEF, 0x0F, 0x00, 0x01]
        for count in [2, 9, 31] {
            let bytes =
                Array(repeatElement(copy, count: count).joined()) + [0x6F] + [UInt8](repeating: 7, count: count) + [8]
            #expect(Self.parse(bytes)?.count == count + 1)
            #expect(Self.parse(bytes)?.last?.range == bytes.count - 1..<bytes.count)
        }
        #expect(
            Self.parse(Array(repeatElement(copy, count: 32).joined()) + [0x6F] + [UInt8](repeating: 7, count: 40))
                == nil)
        // The largest of both fields.
        let large: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0x7F] + [UInt8](repeating: 1, count: 1024)
        #expect(Self.parse(large)?.first == .init(payloadType: 127, timestampOffset: 16_383, range: 5..<1028))
    }

    @Test(
        arguments: [
            [], [0xEF], [0xEF, 0x0F, 0x00], [0xEF, 0x0F, 0x00, 0x03], [0xEF, 0x0F, 0x00, 0x03, 0x6F],
            [0xEF, 0x0F, 0x00, 0x03, 0x6F, 1, 2],
            [0xEF, 0x0F, 0x03, 0xFF, 0x6F, 1], [0xEF, 0x0F, 0x00, 0x01, 0xEF, 0x0F, 0x00, 0x01],
        ] as [[UInt8]])
    func `Truncated or oversized blocks are refused`(bytes: [UInt8]) {
        #expect(Self.parse(bytes) == nil)
    }

    @Test func `The written packet equals Chromium's`() {
        var buffer = [UInt8](repeating: 0, count: 64)
        let length = buffer.withUnsafeMutableBytes { buffer in
            var writer = RTPPacketWriter(buffer, marker: false, payloadType: 63, sequence: 1, timestamp: 2, ssrc: 3)
            RedundantAudio.write(
                copies: [.init(payload: [0x78, 1, 2], age: 960)], newest: [0x78, 9], payloadType: 111, into: &writer)
            return writer.finish()
        }
        #expect(length == 12 + Self.chromium.count)
        #expect(Array(buffer[12..<12 + Self.chromium.count]) == Self.chromium)
    }

    @Test func `A copy that is too large, too old or empty is left out`() {
        #expect(RedundantAudio.canCarry(1023, age: 16_383) && RedundantAudio.canCarry(1, age: 1))
        #expect(!RedundantAudio.canCarry(1024, age: 960) && !RedundantAudio.canCarry(0, age: 960))
        #expect(
            !RedundantAudio.canCarry(80, age: 16_384) && !RedundantAudio.canCarry(80, age: 0)
                && !RedundantAudio.canCarry(80, age: -960))
    }

    // MARK: - Over a link

    /// Audio both ways over a link that loses one packet in ten; the client receives the server's audio.
    private func heard(
        _ repetition: AudioRepetition, loss: Double = 0.1, client: PeerConfiguration? = nil, seed: UInt64 = 3
    ) throws -> (
        packets: [ReceivedAudioPacket], sent: SentCounters, received: PeerStatistics
    ) {
        let call = try SimulatedCall.make(
            down: LinkConditions(delay: .milliseconds(20), loss: .random(loss), rate: .megabits(2)), seed: seed,
            client: client)
        CallMedia().attach(to: call)
        call.server.audioRepetition = repetition
        try call.negotiate()
        try #require(call.run(atMost: .seconds(10)) { $0.areConnected })
        call.run(for: .seconds(20))
        let packets = call.clientEvents.compactMap { if case .audio(let packet) = $0 { packet } else { nil } }
        return (packets, call.server.statistics(at: call.now).audioSent.counters, call.client.statistics(at: call.now))
    }

    @Test func `With copies hardly a packet is missing, and each copy equals the lost packet`() throws {
        let (packets, sent, received) = try heard(.copies([1]))
        let real = packets.filter { !$0.isCopy }
        let first = try #require(real.first).sequence
        let expected = try #require(real.last).sequence - first + 1
        let missing = Int(expected) - real.count
        #expect(missing > 60, "the link loses a tenth")
        let all = Dictionary(packets.map { ($0.sequence, $0) }, uniquingKeysWith: { one, _ in one })
        #expect(Int(expected) - all.keys.count(where: { $0 >= first }) < missing / 4)
        #expect(sent.repeatedPackets >= sent.packets - 1 && sent.packets > 900)
        // Counted on the wire, and once as audio.
        #expect(sent.payloadBytes > sent.packets * 160)
        #expect(received.audioReceived.frames == real.count && received.malformedPackets == 0)
        let originals = Dictionary(real.map { ($0.sequence, $0) }, uniquingKeysWith: { one, _ in one })
        var compared = 0
        for copy in packets where copy.isCopy {
            guard let original = originals[copy.sequence] else { continue }
            compared += 1
            #expect(copy.payload == original.payload && copy.timestamp == original.timestamp)
            #expect(abs((copy.captureTime - original.captureTime).inMilliseconds) < 25)
        }
        #expect(compared > 500)
    }

    @Test func `Copies at distances 1, 2 and 4 are those packets, and three in a row may be lost`() throws {
        let (packets, sent, _) = try heard(.copies([1, 2, 4]), loss: 0.3)
        let real = Dictionary(
            packets.filter { !$0.isCopy }.map { ($0.sequence, $0) }, uniquingKeysWith: { one, _ in one })
        let first = try #require(real.keys.min())
        let last = try #require(real.keys.max())
        let copies = packets.filter { $0.isCopy && $0.sequence >= first }
        #expect(copies.allSatisfy { copy in real[copy.sequence].map { $0.payload == copy.payload } ?? true })
        #expect(copies.allSatisfy { copy in real[copy.sequence].map { $0.timestamp == copy.timestamp } ?? true })
        let missing = Double(Int(last - first) + 1 - real.count) / Double(last - first + 1)
        let unheard = Set(first...last).subtracting(real.keys).subtracting(copies.map(\.sequence))
        #expect(missing > 0.25 && Double(unheard.count) / Double(last - first + 1) < 0.02)
        #expect(sent.repeatedPackets >= 3 * (sent.packets - 4))
    }

    @Test func `Distances may come in any order, and one that is none is left out`() {
        #expect(AudioRepetition.copies([4, 0, 1, -2]).distances == [1, 4])
        #expect(AudioRepetition.none.distances.isEmpty && AudioRepetition.doubled.distances.isEmpty)
    }

    @Test func `Doubled packets are heard once each, by who accepts no copies`() throws {
        var client = PeerConfiguration(role: .client)
        client.takesRedundantAudio = false
        let (packets, sent, received) = try heard(.doubled, loss: 0.3, client: client)
        #expect(!packets.contains(where: \.isCopy) && Set(packets.map(\.sequence)).count == packets.count)
        let sequences = packets.map(\.sequence)
        let share = Double(packets.count) / Double(try #require(sequences.max()) - sequences[0] + 1)
        #expect((0.87...0.95).contains(share), "lost are those that are lost twice")
        #expect(sent.repeatedPackets >= sent.packets - 2 && sent.frames == sent.packets)
        #expect(received.malformedPackets == 0)
    }

    @Test func `Copies behind a pause keep the number of the packet before`() {
        func distance(_ copy: [UInt8], offset: Int, position: Int) -> Int {
            AudioReceiver.distance(of: copy.span, offset: offset, position: position)
        }
        // 20 ms packets (TOC 0x78): two before, and one that went out before a pause of 300 ms.
        #expect(distance([0x78, 1], offset: 1920, position: 1) == 2)
        #expect(distance([0x78, 1], offset: 14_400, position: 1) == 1)
        #expect(distance([0x78, 1], offset: 961, position: 1) == 1)
        #expect(distance([], offset: 960, position: 30) == 30)
    }

    @Test func `Without copies nothing changes on the wire, and a peer that accepts none gets none`() throws {
        let plain = try heard(.none)
        #expect(plain.sent.repeatedPackets == 0 && !plain.packets.contains(where: \.isCopy))
        var client = PeerConfiguration(role: .client)
        client.takesRedundantAudio = false
        let refused = try heard(.copies([1]), client: client)
        #expect(refused.sent.repeatedPackets == 0 && refused.packets.count > 800)
        #expect(refused.sent.payloadBytes == refused.sent.packets * 81)
    }

    @Test func `Malformed redundant audio is counted and dropped`() throws {
        let call = try SimulatedCall.make(seed: 5)
        try call.negotiate()
        try #require(call.run(atMost: .seconds(10)) { $0.areConnected })
        let section = try #require(call.server.negotiated?.section(.audio))
        let red = try #require(section.codecs.first?.redPayloadType)
        let ssrc = try #require(section.remoteSources.first?.ssrc)
        for (index, payload) in [Self.chromium, [0xEF, 0x0F], Self.chromium].enumerated() {
            var bytes: [UInt8] = [0x80, red, 0, UInt8(index)]
            bytes.append32(UInt32(index) * 960)
            bytes.append32(ssrc.rawValue)
            (bytes + payload).withUnsafeBytes { call.server.receiveMedia($0, at: call.now) }
        }
        call.server.drain(at: call.now)
        call.settle()
        #expect(call.server.statistics(at: call.now).malformedPackets == 1)
        #expect(call.audioPackets(.server) == 4)
    }
}
