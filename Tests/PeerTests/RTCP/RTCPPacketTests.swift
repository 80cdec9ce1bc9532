import Basics
import Testing

@testable import Peer

@Suite struct RTCPPacketTests {
    static let block: ReportBlock = {
        var block = ReportBlock(ssrc: 2)
        block.fractionLost = 0x40
        block.cumulativeLost = -2
        block.highestSequence = 0x0001_FFFF
        block.jitter = 3
        block.lastSenderReport = 0x0102_0304
        block.delaySinceLastSenderReport = 0x10000
        return block
    }()
    static let blockBytes: [UInt8] = [
        0, 0, 0, 2, 0x40, 0xFF, 0xFF, 0xFE, 0, 1, 0xFF, 0xFF, 0, 0, 0, 3, 1, 2, 3, 4, 0, 1, 0, 0,
    ]
    static let golden: [(RTCPPacket, [UInt8])] = [
        (
            .senderReport(
                SenderReport(
                    ssrc: 1, ntpTime: 0x0102_0304_0506_0708, rtpTimestamp: 9, packetCount: 10, octetCount: 11,
                    reports: [block])),
            [0x81, 200, 0, 12, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 9, 0, 0, 0, 10, 0, 0, 0, 11] + blockBytes
        ),
        (.receiverReport(ReceiverReport(ssrc: 1, reports: [block])), [0x81, 201, 0, 7, 0, 0, 0, 1] + blockBytes),
        (
            .sourceDescription(SourceDescription(ssrc: 1, cname: "ab")),
            [0x81, 202, 0, 3, 0, 0, 0, 1, 1, 2, 0x61, 0x62, 0, 0, 0, 0]
        ),
        (.goodbye(Goodbye(ssrcs: [1], reason: "bye")), [0x81, 203, 0, 2, 0, 0, 0, 1, 3, 0x62, 0x79, 0x65]),
        (
            .nack(GenericNack(senderSSRC: 1, mediaSSRC: 2, missing: [65534, 65535, 14, 15, 16])),
            [0x81, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0xFF, 0xFE, 0x80, 1, 0, 15, 0, 1]
        ),
        (.pictureLoss(PictureLossIndication(senderSSRC: 1, mediaSSRC: 2)), [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]),
        (
            .fullIntraRequest(FullIntraRequest(senderSSRC: 1, entries: [.init(ssrc: 2, sequence: 7)])),
            [0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 7, 0, 0, 0]
        ),
        (
            .maxBitrate(
                ReceiverEstimatedMaxBitrate(senderSSRC: 1, bitRate: BitRate(bitsPerSecond: 2_500_000), ssrcs: [2])),
            [0x8F, 206, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0, 0x52, 0x45, 0x4D, 0x42, 1, 0x12, 0x62, 0x5A, 0, 0, 0, 2]
        ),
        (
            // 300 kbit/s = 75 000 × 2², 40 bytes of overhead each.
            .temporaryLimit(
                TemporaryMaxBitrate(senderSSRC: 1, limits: [.init(ssrc: 2, bitRate: .kilobits(300), overhead: 40)])),
            [0x83, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0x0A, 0x49, 0xF0, 0x28]
        ),
        (
            .temporaryLimitNotification(
                TemporaryMaxBitrate(
                    senderSSRC: 2,
                    limits: [
                        .init(ssrc: 1, bitRate: .zero, overhead: 511),
                        .init(ssrc: 3, bitRate: .megabits(5), overhead: 0),
                    ])),
            [0x84, 205, 0, 6, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0xFF, 0, 0, 0, 3, 0x1A, 0x62, 0x5A, 0]
        ),
        (
            .temporaryLimitNotification(TemporaryMaxBitrate(senderSSRC: 2, limits: [])),
            [0x84, 205, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0]
        ),
        (
            // Received, lost, received with a large negative delta.
            .transportFeedback(
                TransportFeedback(
                    senderSSRC: 1, mediaSSRC: 2, baseSequence: 65535, statusCount: 3, referenceTime: -1,
                    feedbackCount: 5,
                    arrivals: [.init(sequence: 65535, delta: 4), .init(sequence: 1, delta: -8)])),
            [
                0xAF, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0xFF, 0xFF, 0, 3, 0xFF, 0xFF, 0xFF, 5, 0xD2, 0, 4, 0xFF, 0xF8,
                0, 0, 3,
            ]
        ),
        (
            .extendedReport(
                ExtendedReport(
                    ssrc: 1,
                    blocks: [
                        .receiverReferenceTime(5),
                        .delaySinceLastReference([.init(ssrc: 2, lastReference: 3, delay: 4)]),
                    ])),
            [
                0x80, 207, 0, 8, 0, 0, 0, 1, 4, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 5, 5, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0,
                0, 0, 4,
            ]
        ),
    ]

    static func read(_ bytes: [UInt8]) -> (packets: [RTCPPacket], isBroken: Bool, malformed: Int) {
        var reader = RTCPReader(bytes.span)
        var packets: [RTCPPacket] = []
        while let packet = reader.next() { packets.append(packet) }
        return (packets, reader.isBroken, reader.malformedCount)
    }

    /// RFC 4585 §6.1, §6.2.1 and §6.3.1.
    @Test(arguments: golden.indices) func `Every type is encoded to its bytes and decoded from them`(index: Int) {
        let (packet, bytes) = Self.golden[index]
        var written: [UInt8] = []
        packet.encode(into: &written)
        #expect(written == bytes)
        #expect(Self.read(bytes).packets == [packet])
    }

    @Test func `A compound packet of all types is parsed in order`() {
        let result = Self.read(Self.golden.flatMap(\.1))
        #expect(result.packets == Self.golden.map(\.0) && !result.isBroken && result.malformed == 0)
    }

    @Test func `A truncated body costs its packet, a wrong length the rest`() {
        let good = Self.golden[5].1
        let short: [UInt8] = [0x81, 201, 0, 1, 0, 0, 0, 1]  // claims a block
        let result = Self.read(short + good)
        #expect(result.packets == [Self.golden[5].0] && result.malformed == 1)
        #expect(Self.read(good + [0x80, 201, 0, 9, 0, 0, 0, 1]).isBroken)
        #expect(Self.read(good + [0x80, 204, 0, 0] + good).packets.count == 3)
        // Feedback that claims 8191 received packets and brings no delta.
        #expect(
            Self.read([0x8F, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0x20, 0, 0, 0, 0, 0, 0x3F, 0xFF, 0, 0]).malformed
                == 1)
    }

    @Test func `A temporary limit beyond all numbers is as good as none, half an entry is not parsed`() {
        let head: [UInt8] = [0x83, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]
        let limits = [[0xFF, 0xFF, 0xFE, 0], [0xFC, 0, 0, 0]].map { (rate: [UInt8]) -> Int? in
            guard case .temporaryLimit(let request) = Self.read(head + rate).packets.first else { return nil }
            return request.limits.first?.bitRate.bitsPerSecond
        }
        #expect(limits == [FloatingBitRate.most.bitsPerSecond, 0])
        #expect(Self.read([0x83, 205, 0, 3] + head[4...]).malformed == 1)
    }

    @Test func `Damaged packets never trap`() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<5000 {
            var bytes = Self.golden.randomElement(using: &random)?.1 ?? []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            for packet in Self.read(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))).packets {
                if case .transportFeedback(let feedback) = packet { _ = ArrivalReport(feedback) }
            }
        }
    }
}

@Suite("RTCP packets of several parts") struct RTCPPartsTests {
    private func roundTrip(_ packet: RTCPPacket) -> RTCPPacket? {
        var bytes: [UInt8] = []
        packet.encode(into: &bytes)
        var reader = RTCPReader(bytes.span)
        return reader.next()
    }

    @Test("Source descriptions of several chunks, of any text length")
    func chunks() {
        for length in 0..<9 {
            let packet = RTCPPacket.sourceDescription(
                SourceDescription(
                    chunks: (0..<3).map { number in
                        .init(
                            ssrc: SSRC(UInt32(number)),
                            items: [
                                .init(type: 1, text: String(repeating: "x", count: length + number)),
                                .init(type: 2, text: ""),
                            ])
                    }))
            #expect(roundTrip(packet) == packet)
        }
    }

    @Test("Extended reports of both kinds in one packet")
    func extended() {
        let packet = RTCPPacket.extendedReport(
            ExtendedReport(
                ssrc: 1,
                blocks: [
                    .receiverReferenceTime(0x0102_0304_0506_0708),
                    .delaySinceLastReference([
                        .init(ssrc: 2, lastReference: 3, delay: 4), .init(ssrc: 5, lastReference: 6, delay: 7),
                    ]),
                ]))
        #expect(roundTrip(packet) == packet)
    }
}
