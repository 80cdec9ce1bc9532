import Basics
import Simulation
import Testing

@testable import Peer

/// Short seeded runs of every fuzz body. A crash prints the suite's seed; its bytes become a fixture.
@Suite("Damaged bytes from outside trap nowhere") struct FuzzTests {
    private func run(_ rounds: Int, seed: UInt64, corpus: [[UInt8]], _ body: ([UInt8]) -> Void) {
        var mutator = Mutator(seed: seed)
        for bytes in corpus { body(bytes) }
        for _ in 0..<rounds {
            guard let origin = corpus.randomElement(using: &mutator.random) else { return }
            body(mutator.mutate(origin, with: corpus))
        }
    }

    @Test("Session descriptions, and answers to them") func descriptions() throws {
        let corpus = try SDPFixtures.names.filter { !$0.contains("reneg") && !$0.contains("plus") }.map { Array(try SDPFixtures.text($0).utf8) }
        var mutator = Mutator(seed: 1)
        for _ in 0..<250 {
            guard let origin = corpus.randomElement(using: &mutator.random) else { return }
            // Whole lines, then bytes.
            var lines = origin.split(separator: 10, omittingEmptySubsequences: false).map { Array($0) }
            let index = Int.random(in: lines.indices, using: &mutator.random)
            switch Int.random(in: 0..<4, using: &mutator.random) {
            case 0: lines.remove(at: index)
            case 1: lines.insert(lines[index], at: Int.random(in: lines.indices, using: &mutator.random))
            case 2: lines[index] = Array(Self.hostileLines.randomElement(using: &mutator.random)?.utf8 ?? "".utf8)
            default: lines[index] = mutator.mutate(lines[index])
            }
            FuzzBodies.sessionDescription(Array(lines.joined(separator: [10])))
        }
        for line in Self.hostileLines {
            guard let origin = corpus.first else { return }
            FuzzBodies.sessionDescription(origin + Array("\(line)\r\n".utf8))
        }
    }

    /// The largest numbers and the emptiest values.
    private static let hostileLines = [
        "b=AS:9223372036854775807", "b=TIAS:9223372036854775807", "a=max-message-size:9223372036854775807",
        "a=rtpmap:96 VP8/9223372036854775807", "a=rtpmap:127 opus/48000/9223372036854775807", "a=fmtp:96 apt=99999999999999999999",
        "a=fmtp:111 maxaveragebitrate=9223372036854775807;maxplaybackrate=-1", "a=extmap:255 urn:ietf:params:rtp-hdrext:sdes:mid",
        "a=ssrc:4294967295 cname:x", "a=ssrc-group:FID 0 4294967295", "a=simulcast:send ;;,,~", "a=rid: send", "m=video 65535/65535 UDP/TLS/RTP/SAVPF 0",
        "a=candidate:0 0 udp 4294967295 255.255.255.255 65535 typ host", "a=sctp-port:65535", "o=- 18446744073709551615 18446744073709551615 IN IP4 0", "a=mid:",
        "a=fmtp:102 profile-level-id=ffffffffff;packetization-mode=-9223372036854775808", "a=fingerprint:sha-256 00", "a=setup:active", "a=ice-lite",
    ]

    @Test("Candidate lines") func candidates() {
        let corpus = [
            "candidate:1 1 udp 2130706431 203.0.113.5 4000 typ host", "candidate:2 1 tcp 1518280447 2001:db8::1 9 typ host tcptype active",
            "candidate:842163049 1 udp 1677729535 203.0.113.5 46154 typ srflx raddr 0.0.0.0 rport 0 generation 0 ufrag abcd network-cost 999",
            "candidate:3 1 udp 1 4f2a-41.local 9 typ host", "candidate:4 1 udp 1 ::ffff:1.2.3.4 9 typ relay",
        ].map { Array($0.utf8) }
        run(3000, seed: 2, corpus: corpus, FuzzBodies.candidate)
    }

    @Test("STUN") func stun() {
        var message = STUNMessage(.request, transaction: STUNMessage.TransactionID(high: 1, low: 2))
        message.username = "abcd:efgh"
        message.priority = 1
        message.iceControlling = 7
        message.useCandidate = true
        var success = STUNMessage(.success, transaction: STUNMessage.TransactionID(high: 1, low: 2))
        success.xorMappedAddress = SocketAddress(.v4(0xC000_0201), port: 4000)
        let corpus = [message.encoded(password: "a password of enough letters"), success.encoded(password: nil)]
        run(3000, seed: 3, corpus: corpus, FuzzBodies.stun)
        // With the length mended, so that attributes are read.
        run(3000, seed: 4, corpus: corpus) { bytes in
            var bytes = bytes
            while bytes.count % 4 != 0 { bytes.append(0) }
            guard bytes.count >= 20, bytes.count < 65_000 else { return }
            bytes[2] = UInt8((bytes.count - 20) >> 8)
            bytes[3] = UInt8((bytes.count - 20) & 255)
            FuzzBodies.stun(bytes)
        }
    }

    private static func rtpPackets() -> [[UInt8]] {
        [false, true].compactMap { twoByte in
            var bytes = [UInt8](repeating: 0, count: 200)
            let length = bytes.withUnsafeMutableBytes { buffer in
                var writer = RTPPacketWriter(
                    buffer, marker: true, payloadType: 96, sequence: 65_535, timestamp: .max, ssrc: 7, twoByteExtensions: twoByte)
                writer.addExtension(1, "0")
                writer.addExtension(3, UInt16(9))
                writer.addExtension24(5, 77)
                writer.append16(0x1000)
                writer.append(0x10)
                writer.pad(20)
                return writer.finish()
            }
            return length.map { Array(bytes[..<$0]) }
        }
    }

    @Test("RTP headers of both extension forms") func rtp() { run(1500, seed: 5, corpus: Self.rtpPackets(), FuzzBodies.rtp) }

    @Test("Redundant sound") func redundantSound() {
        run(3000, seed: 12, corpus: [RedundantAudioTests.chromium, [0x6F, 0x78, 1]], FuzzBodies.redundantSound)
    }

    private static func reports() -> [[UInt8]] {
        var block = ReportBlock(ssrc: 2)
        block.cumulativeLost = -1
        let packets: [RTCPPacket] = [
            .senderReport(SenderReport(ssrc: 1, ntpTime: .max, rtpTimestamp: .max, packetCount: 1, octetCount: 1, reports: [block])),
            .receiverReport(ReceiverReport(ssrc: 1, reports: [block, block])), .sourceDescription(SourceDescription(ssrc: 1, cname: "häl")),
            .goodbye(Goodbye(ssrcs: [1, 2])), .nack(GenericNack(senderSSRC: 1, mediaSSRC: 2, missing: [65_535, 0, 5])),
            .pictureLoss(PictureLossIndication(senderSSRC: 1, mediaSSRC: 2)),
            .maxBitrate(ReceiverEstimatedMaxBitrate(senderSSRC: 1, bitRate: .megabits(2), ssrcs: [2, 3])),
            .temporaryLimit(
                TemporaryMaxBitrate(
                    senderSSRC: 1,
                    limits: [.init(ssrc: 2, bitRate: .megabits(2), overhead: 40), .init(ssrc: 3, bitRate: .zero, overhead: 511)])),
            .temporaryLimitNotification(TemporaryMaxBitrate(senderSSRC: 2, limits: [.init(ssrc: 1, bitRate: .kilobits(90), overhead: 0)])),
            .transportFeedback(
                TransportFeedback(
                    senderSSRC: 1, mediaSSRC: 2, baseSequence: 65_530, statusCount: 40, referenceTime: -5, feedbackCount: 255,
                    arrivals: [.init(sequence: 65_530, delta: 3), .init(sequence: 2, delta: -900), .init(sequence: 30, delta: 255)])),
        ]
        var compound: [UInt8] = []
        var result = packets.map { packet in
            var bytes: [UInt8] = []
            packet.encode(into: &bytes)
            compound += bytes
            return bytes
        }
        result.append(compound)
        return result
    }

    @Test("RTCP compounds") func rtcp() { run(4000, seed: 6, corpus: Self.reports(), FuzzBodies.rtcp) }

    private static func payloads(_ codec: VideoCodec) -> [[UInt8]] {
        let media = CallMedia()
        media.codec = codec
        return [true, false].flatMap { isKeyframe -> [[UInt8]] in
            let frame = media.frame(isKeyframe: isKeyframe, at: .zero)
            return frame.fragments.map { fragment -> [UInt8] in
                var payload: [UInt8] = []
                if codec == .vp8 {
                    VP8Descriptor(startsPartition: fragment.isFirst, pictureID: 5, temporalLevelZeroIndex: 1, temporalLayer: 1).encode(into: &payload)
                }
                return payload + frame.bytes[fragment.range].prefix(60)
            }
        }
    }

    @Test("Frames of VP8 and H.264", arguments: [VideoCodec.vp8, .h264]) func frames(codec: VideoCodec) {
        let corpus = Self.payloads(codec)
        var mutator = Mutator(seed: 7)
        for _ in 0..<800 {
            let count = Int.random(in: 1...4, using: &mutator.random)
            FuzzBodies.frames(
                (0..<count).map { _ in mutator.mutate(corpus.randomElement(using: &mutator.random) ?? [], with: corpus) })
        }
    }

    @Test("Chunks into an established association") func sctp() throws {
        var mutator = Mutator(seed: 8)
        var corpus: [[UInt8]] = []
        let list: [SCTPChunk] = [
            .sack(SCTPSack(cumulative: 98, window: 0, gaps: [1...2, 65_535...65_535], duplicates: [4])), .heartbeat([0, 1, 0, 8, 1, 2, 3, 4]),
            .data(SCTPData(tsn: 100, stream: 1, ssn: 0, ppid: 50, unordered: false, begins: true, ends: true, payload: [3, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 65])),
            .data(SCTPData(tsn: 102, stream: 1, ssn: 1, ppid: 51, unordered: true, begins: true, ends: false, payload: [65])),
            .forwardTSN(104, [SCTPSkip(stream: 1, ssn: 2)]), .shutdown(99), .cookieEcho([UInt8](repeating: 0, count: 13)),
            .reconfig([.resetOutgoing(request: 100, response: 9, lastTSN: 100, streams: [1]), .resetIncoming(request: 101, streams: [3]), .other(request: 102)]),
        ]
        for chunk in list {
            var bytes: [UInt8] = []
            chunk.encode(into: &bytes)
            corpus.append(bytes)
        }
        for round in 0..<40 {
            let association = SCTPAssociation(SCTPConfiguration(), tag: 5, tsn: 99)
            var now = Instant.zero
            var echo: [UInt8] = []
            SCTPChunk.cookieEcho([0, 0, 0, 9, 0, 1, 0, 0, 0, 0, 0, 100, 1]).encode(into: &echo)
            FuzzBodies.sctp(echo, into: association, at: now)
            #expect(association.state == .established)
            for step in 0..<50 {
                now += .milliseconds(round % 3 * 50)
                if step % 5 == 0 { _ = association.send([1, 2, 3], ppid: 51, stream: 1, SCTPReliability(retransmissions: step % 2), at: now) }
                FuzzBodies.sctp(mutator.mutate(corpus.randomElement(using: &mutator.random) ?? [], with: corpus), into: association, at: now)
                for packet in association.packets { #expect(packet.count <= association.configuration.packetSize + 64) }
                association.packets.removeAll()
            }
            #expect(association.held >= 0 && association.buffered >= 0)
        }
    }

    @Test("Datagrams of a handshake") func dtls() throws {
        let link = try DTLSLink(client: TestIdentities.first.get(), server: TestIdentities.second.get())
        link.start()
        var flights: [[UInt8]] = []
        while let bytes = link.client.nextTransmit() { flights.append(bytes) }
        for bytes in flights { bytes.withUnsafeBytes { link.server.receive($0, at: link.now) } }
        while let bytes = link.server.nextTransmit() { flights.append(bytes) }
        var mutator = Mutator(seed: 9)
        for _ in 0..<60 {
            let server = try DTLSTransport(role: .server, identity: TestIdentities.second.get(), at: .zero)
            var now = Instant.zero
            for _ in 0..<8 {
                now += .milliseconds(120)
                FuzzBodies.dtls(mutator.mutate(flights.randomElement(using: &mutator.random) ?? [], with: flights), into: server, at: now)
            }
        }
    }

    @Test("A whole connection under mutated authentic traffic, and under what an authentic peer may say in it") func connection() throws {
        let media = CallMedia()
        let call = try SimulatedCall.make(seed: 10)
        media.attach(to: call)
        var datagrams: [[UInt8]] = []
        call.filter = { side, bytes in
            if side == .client, datagrams.count < 60 || datagrams.count < 160 && bytes[0] >= 128 { datagrams.append(bytes) }
            return false
        }
        call.client.openChannel(label: "x", at: call.now)
        try call.negotiate()
        try #require(call.run(atMost: .seconds(10)) { $0.areConnected })
        call.run(for: .milliseconds(600))
        let flow = Flow(.udp, local: SimulatedCall.serverAddress, remote: SimulatedCall.clientAddress)
        var mutator = Mutator(seed: 11)
        for _ in 0..<600 {
            var bytes = mutator.mutate(datagrams.randomElement(using: &mutator.random) ?? [], with: datagrams)
            bytes.withUnsafeMutableBytes { call.server.receive($0, flow: flow, at: call.now) }
        }
        call.run(for: .milliseconds(100))
        #expect(call.server.isConnected)

        let section = try #require(call.server.negotiated?.section(.video))
        let source = try #require(section.remoteSources.first)
        let payloadType = try #require(section.codecs.first).payloadType
        var plain = Self.reports()
        // What is about our own streams goes further than what is about others'.
        let ours = call.server.sender.video.stream.ssrc
        let aboutUs: [RTCPPacket] = [
            .temporaryLimit(TemporaryMaxBitrate(senderSSRC: 1, limits: [.init(ssrc: ours, bitRate: .megabits(2), overhead: 40)])),
            .maxBitrate(ReceiverEstimatedMaxBitrate(senderSSRC: 1, bitRate: .megabits(2), ssrcs: [ours])),
            .nack(GenericNack(senderSSRC: 1, mediaSSRC: ours, missing: [1, 2, 40])),
            .pictureLoss(PictureLossIndication(senderSSRC: 1, mediaSSRC: ours)),
            .fullIntraRequest(FullIntraRequest(senderSSRC: 1, entries: [.init(ssrc: ours, sequence: 3)])),
            .receiverReport(ReceiverReport(ssrc: 1, reports: [ReportBlock(ssrc: ours)])),
        ]
        for packet in aboutUs {
            var bytes: [UInt8] = []
            packet.encode(into: &bytes)
            plain.append(bytes)
        }
        for (index, payload) in Self.payloads(.vp8).enumerated() {
            var bytes: [UInt8] = [0x80, payloadType, 0, UInt8(index)]
            bytes.append32(UInt32(index) * 3600)
            bytes.append32(source.ssrc)
            plain.append(bytes + payload)
            if let rtx = source.rtx, let type = section.codecs.first?.rtxPayloadType {
                var repair: [UInt8] = [0x80, type, 0, UInt8(index), 0, 0, 0, 9]
                repair.append32(rtx)
                plain.append(repair + [0, UInt8(index)] + payload)
            }
        }
        let sound = try #require(call.server.negotiated?.section(.audio))
        if let red = sound.codecs.first?.redPayloadType, let ssrc = sound.remoteSources.first?.ssrc {
            for index in 0..<4 as Range<UInt8> {
                var bytes: [UInt8] = [0x80, red, 0, index, 0, 0, index << 2, 0]
                bytes.append32(ssrc)
                plain.append(bytes + RedundantAudioTests.chromium)
            }
        }
        var now = call.now
        for _ in 0..<1200 {
            now += .milliseconds(Int64.random(in: 0...40, using: &mutator.random))
            FuzzBodies.plain(mutator.mutate(plain.randomElement(using: &mutator.random) ?? [], with: plain), into: call.server, at: now)
        }
    }
}
