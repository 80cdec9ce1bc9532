import Basics

/// RTCP of a connected peer.
enum RTCPAttacks {
    static let all: [Attack] = limits + lies + floods + streams

    // MARK: - Numbers at the edge

    private static var limits: [Attack] {
        var attacks: [Attack] = []
        for exponent in [63, 46] as [UInt32] {
            for overhead in [0, 511] as [UInt32] {
                attacks.append(
                    Attack(
                        "tmmbr-\(exponent)-\(overhead)",
                        "TMMBR for the server's video with exponent \(exponent), the largest mantissa and an overhead of \(overhead) bytes, 10 a second."
                    ) { context in
                        try speak(context, every: .milliseconds(100)) { peer, _ in
                            peer.send(
                                rtcp: HostileRTCP.temporaryLimit(
                                    sender: peer.offer.videoSSRC, stream: peer.answer.videoSSRC, exponent: exponent,
                                    mantissa: 0x1FFFF,
                                    overhead: overhead))
                        }
                    })
            }
        }
        attacks.append(
            Attack(
                "tmmbr-sweep",
                "TMMBR with every exponent and changing mantissas, overheads and senders, 1000 limits a second."
            ) { context in
                var number: UInt32 = 0
                try speak(context, every: .milliseconds(10)) { peer, _ in
                    for _ in 0..<10 {
                        number &+= 1
                        peer.send(
                            rtcp: HostileRTCP.temporaryLimit(
                                sender: number &* 2_654_435_761, stream: peer.answer.videoSSRC, exponent: number & 63,
                                mantissa: number &* 40_503,
                                overhead: number &* 7))
                    }
                }
            })
        attacks.append(
            Attack(
                "remb-sweep", "REMB with every exponent, mantissas of 0 and all ones, and 255 streams, 500 a second."
            ) { context in
                var number: UInt32 = 0
                try speak(context, every: .milliseconds(10)) { peer, _ in
                    for _ in 0..<5 {
                        number &+= 1
                        let streams = number % 3 == 0 ? (0..<255).map { UInt32($0) } : [peer.answer.videoSSRC]
                        peer.send(
                            rtcp: HostileRTCP.estimate(
                                sender: peer.offer.videoSSRC, exponent: number & 63,
                                mantissa: number % 2 == 0 ? 0 : 0x3FFFF, streams: streams))
                    }
                }
            })
        return attacks
    }

    private static let lies: [Attack] = [
        Attack(
            "report-extremes",
            "Sender and receiver reports about the server's streams with all fields at their limits and times of any age, 500 a second."
        ) { context in
            var number: UInt32 = 0
            try speak(context, every: .milliseconds(10)) { peer, _ in
                for _ in 0..<5 {
                    number &+= 1
                    let extremes: [UInt32] = [0, 1, 0x7FFF_FFFF, 0x8000_0000, .max, number &* 2_654_435_761]
                    let pick = { (offset: UInt32) in extremes[Int((number &* 7 &+ offset &* 13) % 6)] }
                    var body: [UInt8] = []
                    // RFC 3550 §6.4.1: SSRC, NTP time, RTP time, packets, bytes, then one block about the server's
                    // video.
                    for word in [peer.offer.videoSSRC, pick(1), pick(2), pick(3), pick(4), pick(5)] {
                        body.append32(word)
                    }
                    for word in [peer.answer.videoSSRC, pick(6), pick(7), pick(8), pick(9), pick(10)] {
                        body.append32(word)
                    }
                    peer.send(rtcp: HostileRTCP.packet(200, count: 1, body))
                }
            }
        },
        Attack(
            "time-jumps",
            "A voice whose RTP time jumps by half its range with each packet, and sender reports to go with it, 2000 packets a second."
        ) { context in
            var time: UInt32 = 0
            try speak(context, every: .milliseconds(5)) { peer, _ in
                for _ in 0..<10 {
                    time &+= 0x8000_0000
                    peer.send(
                        payload: [0xFC, 1, 2, 3], type: HostileOffer.opus, ssrc: peer.offer.audioSSRC, timestamp: time)
                }
                var body: [UInt8] = []
                for word in [peer.offer.audioSSRC, time &* 3, time, time, 1, 1] { body.append32(word) }
                peer.send(rtcp: HostileRTCP.packet(200, count: 0, body))
            }
        },
        Attack(
            "rtcp-unknown",
            "RTCP of unknown types and formats, empty, cut short, with lengths that lie, and compounds of 250 packets, 1000 a second."
        ) { context in
            var random = SeededRandom(seed: 11)
            try speak(context, every: .milliseconds(10)) { peer, _ in
                for _ in 0..<10 {
                    var bytes: [UInt8] = HostileRTCP.report(peer.offer.videoSSRC)
                    while bytes.count < 1000 {
                        let size = Int.random(in: 0...6, using: &random)
                        var packet = HostileRTCP.packet(
                            .random(in: 192...223, using: &random), count: .random(in: 0...31, using: &random),
                            (0..<size * 4).map { _ in .random(in: 0...255, using: &random) })
                        // Some packets concern the server's own streams, or claim more than their length.
                        if size > 1, Bool.random(using: &random) {
                            packet.replaceSubrange(8..<12, with: word(peer.answer.videoSSRC))
                        }
                        if UInt8.random(in: 0...40, using: &random) == 0 { packet[2] = 0xFF }
                        bytes += packet
                    }
                    peer.send(rtcp: bytes)
                }
            }
        },
    ]

    static func word(_ value: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append32(value)
        return bytes
    }

    // MARK: - Much work for few bytes

    private static var floods: [Attack] {
        var attacks: [Attack] = []
        for megabits in [1, 4] {
            attacks.append(
                Attack(
                    "twcc-lie-\(megabits)",
                    "Transport-wide feedback that says \"65 528 packets lost\" in 36 bytes, \(megabits) Mbit/s of it."
                ) { context in
                    var count: UInt8 = 0
                    try follow(context, bitsPerSecond: megabits * 1_000_000) { peer, newest in
                        var bytes: [UInt8] = []
                        while bytes.count < Packetizing.room - 36 {
                            count &+= 1
                            bytes += HostileRTCP.transport(
                                sender: peer.offer.videoSSRC, media: peer.answer.videoSSRC, base: newest.transport &- 8,
                                count: 65_528, symbol: 0,
                                number: count)
                        }
                        peer.send(rtcp: bytes)
                    }
                })
        }
        attacks += [
            Attack("nack-flood", "NACKs for the last 4700 packets of the server's video, again and again, 4 Mbit/s.") {
                context in
                try follow(context, bitsPerSecond: 4_000_000) { peer, newest in
                    var content: [UInt8] = []
                    for index in 0..<280 {
                        content.append16(newest.video &- UInt16(17 * (index + 1)))
                        content.append16(0xFFFF)
                    }
                    peer.send(
                        rtcp: HostileRTCP.feedback(
                            HostileRTCP.transportFeedback, format: 1, sender: peer.offer.videoSSRC,
                            media: peer.answer.videoSSRC, content))
                }
            },
            Attack("pli-flood", "5000 PLIs a second.") { context in
                try speak(context, every: .milliseconds(10)) { peer, _ in
                    for _ in 0..<50 {
                        peer.send(
                            rtcp: HostileRTCP.feedback(
                                HostileRTCP.payloadFeedback, format: 1, sender: peer.offer.videoSSRC,
                                media: peer.answer.videoSSRC, []))
                    }
                }
            },
            Attack("fir-flood", "FIRs with 140 entries each, all of new numbers, 500 a second.") { context in
                var number: UInt8 = 0
                try speak(context, every: .milliseconds(10)) { peer, _ in
                    for _ in 0..<5 {
                        var content: [UInt8] = []
                        for _ in 0..<140 {
                            number &+= 1
                            content += word(peer.answer.videoSSRC) + [number, 0, 0, 0]
                        }
                        peer.send(
                            rtcp: HostileRTCP.feedback(
                                HostileRTCP.payloadFeedback, format: 4, sender: peer.offer.videoSSRC, media: 0, content)
                        )
                    }
                }
            },
            Attack(
                "feedback-flood",
                "10 000 small RTCP packets a second: receiver reports, empty feedback, goodbyes for others' streams."
            ) { context in
                var number: UInt32 = 0
                try speak(context, every: .milliseconds(5)) { peer, _ in
                    for _ in 0..<50 {
                        number &+= 1
                        switch number % 3 {
                        case 0: peer.send(rtcp: HostileRTCP.report(number))
                        case 1:
                            peer.send(
                                rtcp: HostileRTCP.transport(
                                    sender: 1, media: peer.answer.videoSSRC, base: UInt16(truncatingIfNeeded: number),
                                    count: 1, symbol: 0,
                                    number: UInt8(truncatingIfNeeded: number)))
                        default: peer.send(rtcp: HostileRTCP.packet(203, count: 1, word(number)))
                        }
                    }
                }
            },
        ]
        return attacks
    }

    // MARK: - Streams without number

    private static let streams: [Attack] = [
        Attack("ssrc-flood-rtp", "RTP packets of which each has an SSRC of its own, 10 000 a second.") { context in
            var ssrc = UInt32.random(in: 1...0xFFFF)
            try speak(context, every: .milliseconds(5)) { peer, _ in
                for _ in 0..<50 {
                    ssrc &+= 65_537
                    peer.send(
                        rtp: HostilePeer.packet(
                            [0xFC, 1, 2, 3], type: HostileOffer.opus, ssrc: ssrc, sequence: 1, timestamp: 1))
                }
                if ssrc % 20 == 0 { peer.forgetStreams() }
            }
        },
        Attack("ssrc-flood-rtcp", "Sender reports of which each has an SSRC of its own, 10 000 a second.") { context in
            var ssrc = UInt32.random(in: 1...0xFFFF)
            try speak(context, every: .milliseconds(5)) { peer, _ in
                for _ in 0..<50 {
                    ssrc &+= 65_537
                    peer.send(rtcp: HostileRTCP.packet(200, count: 0, word(ssrc) + [UInt8](repeating: 1, count: 20)))
                }
                if ssrc % 20 == 0 { peer.forgetStreams() }
            }
        },
    ]

    // MARK: - Speakers

    private static func speak(
        _ context: AttackContext, every interval: Duration, _ body: (HostilePeer, Instant) throws(WireError) -> Void
    ) throws {
        let intruder = try context.enter("rtcp")
        try intruder.run(context, every: interval) { now throws(WireError) in try body(intruder.peer, now) }
    }

    /// The latest sequence numbers of the server's packets.
    struct Newest {
        var video: UInt16 = 0
        var transport: UInt16 = 0
    }

    /// Calls `body`, which sends about one full datagram.
    private static func follow(
        _ context: AttackContext, bitsPerSecond rate: Int, _ body: (HostilePeer, Newest) throws(WireError) -> Void
    ) throws {
        let intruder = try context.enter("rtcp")
        let peer = intruder.peer
        var newest = Newest()
        peer.onMedia = { sequence, ssrc, transport in
            if ssrc == peer.answer.videoSSRC { newest.video = sequence }
            if let transport { newest.transport = transport }
        }
        defer { peer.onMedia = nil }
        let perSecond = Double(rate) / 8 / Double(Packetizing.room + 60)
        try intruder.run(context, every: .nanoseconds(Int64(1e9 / perSecond))) { _ throws(WireError) in
            try body(peer, newest)
        }
    }
}
