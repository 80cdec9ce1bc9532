import Basics

/// RTP whose payloads cost more than their size suggests.
enum PayloadAttacks {
    static let all: [Attack] = [
        Attack(
            "h264-units", "Access units of 38 000 parameter sets of 4 bytes in 200 packets, no two alike, one a second."
        ) { context in
            try units(context, packets: 200)
        },
        Attack("h264-units-many", "The same with 2000 packets: 380 000 parameter sets in one access unit.") { context in
            try units(context, packets: 2000)
        },
        Attack("h264-empty-units", "Aggregation packets of 500 empty units each, 2000 packets a second.") { context in
            let payload = [0x78] + [UInt8](repeating: 0, count: 1000)
            try stream(context, .h264, perSecond: 2000) { (payload, $0 / 500, $0 % 500 == 499) }
        },
        Attack("h264-fragments", "A fragmented unit that never ends, 2000 packets a second of one picture.") {
            context in
            let body = [UInt8](repeating: 7, count: Packetizing.room)
            try stream(context, .h264, perSecond: 2000) { ([0x7C, $0 == 0 ? 0x85 : 0x05] + body, $0 / 50_000, false) }
        },
        Attack(
            "h264-sizes",
            "Parameter sets that name another picture size each time, with a slice behind them, 500 pictures a second."
        ) { context in
            var random = SeededRandom(seed: 3)
            try stream(context, .h264, perSecond: 1000) { number in
                // The bytes behind profile and level are Exp-Golomb numbers: sizes among them.
                let set = [0x67, 0x42, 0xE0, 0x1F] + (0..<12).map { _ in UInt8.random(in: 1...255, using: &random) }
                let picture: [UInt8] = [0x65, 0x88, 0x84, 0, 0x10]
                return (number % 2 == 0 ? set : picture, number / 2, number % 2 == 1)
            }
        },
        Attack(
            "vp8-partitions",
            "VP8 pictures that begin and never end, with partitions of every number, 4000 packets a second."
        ) { context in
            let body = [UInt8](repeating: 9, count: 200)
            try stream(context, .vp8, perSecond: 4000) { ([0x10 | UInt8($0 % 8)] + body, $0 / 3, false) }
        },
        Attack("vp8-headers", "VP8 keyframes of a header and rubbish, each of another size, 500 a second.") { context in
            var random = SeededRandom(seed: 4)
            try stream(context, .vp8, perSecond: 500) { number in
                // RFC 6386 §9.1: keyframe, shown, a first partition of some length; the start code; 14 bits each of
                // width and height.
                let head: [UInt8] = [0x10, 0x50, 0x01, 0x00, 0x9D, 0x01, 0x2A]
                let size = (0..<4).map { _ in UInt8.random(in: 0...255, using: &random) & 0x0F }
                return (head + size + (0..<60).map { _ in .random(in: 0...255, using: &random) }, number, true)
            }
        },
        Attack("rtp-holes", "Every second packet of a video stream missing, for ever, 4000 packets a second.") {
            context in
            try numbers(context, perSecond: 4000) { UInt16(truncatingIfNeeded: $0 * 2) }
        },
        Attack("rtp-jumps", "Video packets of random sequence numbers, 4000 a second.") { context in
            try numbers(context, perSecond: 4000) { UInt16(truncatingIfNeeded: ($0 &* 40_503) >> 3) }
        },
        Attack("rtx-flood", "Repairs of packets that were never sent, 4000 a second.") { context in
            let intruder = try context.enter("payload")
            var number = 0
            try intruder.run(context, every: .milliseconds(5)) { _ throws(WireError) in
                for _ in 0..<20 {
                    number += 1
                    let original = UInt16(truncatingIfNeeded: number &* 40_503)
                    intruder.peer.send(
                        payload: [UInt8(original >> 8), UInt8(original & 255)] + [UInt8](repeating: 0x10, count: 300),
                        type: HostileOffer.vp8 + 1,
                        ssrc: intruder.peer.offer.videoSSRC &+ 1, timestamp: UInt32(number))
                }
            }
        },
        Attack("red-blocks", "Redundant sound of 280 empty blocks a packet, 1000 packets a second.") { context in
            let intruder = try context.enter("payload")
            var headers: [UInt8] = []
            for block in 0..<280 {
                headers += [0x80 | HostileOffer.opus, UInt8(block / 4), UInt8(block % 4) << 6, 0] as [UInt8]
            }
            var time: UInt32 = 0
            try intruder.run(context, every: .milliseconds(5)) { _ throws(WireError) in
                for _ in 0..<5 {
                    time &+= 960
                    intruder.peer.send(
                        payload: headers + [HostileOffer.opus, 0xFC, 1, 2], type: HostileOffer.red,
                        ssrc: intruder.peer.offer.audioSSRC, timestamp: time)
                }
            }
        },
        Attack("opus-rubbish", "Sound packets of random bytes and of 120 ms each, 1000 a second.") { context in
            let intruder = try context.enter("payload")
            var random = SeededRandom(seed: 8)
            var time: UInt32 = 0
            try intruder.run(context, every: .milliseconds(5)) { _ throws(WireError) in
                for _ in 0..<5 {
                    time &+= UInt32.random(in: 0...5760, using: &random)
                    let payload =
                        [0x7B, 6]
                        + (0..<Int.random(in: 0...200, using: &random)).map { _ in
                            UInt8.random(in: 0...255, using: &random)
                        }
                    intruder.peer.send(
                        payload: payload, type: HostileOffer.opus, ssrc: intruder.peer.offer.audioSSRC, timestamp: time)
                }
            }
        },
        Attack(
            "extension-flood", "RTP packets with 60 header extensions each and another MID each time, 4000 a second."
        ) { context in
            let intruder = try context.enter("payload")
            var number: UInt32 = 0
            try intruder.run(context, every: .milliseconds(5)) { _ throws(WireError) in
                for _ in 0..<20 {
                    number &+= 1
                    // RFC 8285 §4.2: one-byte form, ids 1 to 14 repeated.
                    var elements: [UInt8] = []
                    for index in 0..<60 {
                        elements += [UInt8(index % 14 + 1) << 4 | 3] + RTCPAttacks.word(number &* 31 &+ UInt32(index))
                    }
                    var bytes: [UInt8] = [0x90, HostileOffer.vp8]
                    bytes.append16(UInt16(truncatingIfNeeded: number))
                    bytes.append32(number)
                    bytes.append32(intruder.peer.offer.videoSSRC)
                    bytes += [0xBE, 0xDE]
                    bytes.append16(UInt16(elements.count / 4))
                    intruder.peer.send(rtp: bytes + elements + [0x10, 1, 2, 3])
                }
            }
        },
    ]

    private static func units(_ context: AttackContext, packets: Int) throws {
        let intruder = try context.enter("payload", codecs: [.h264])
        let sets = Packetizing.parameterSets(packets: packets)
        // The real picture's parameter sets precede the others, and its slice follows them.
        let real = Packetizing.units(try DecodeBombs.smallH264.get().data)
        let head = real.filter { $0[0] & 31 != 5 }, slices = real.filter { $0[0] & 31 == 5 }
        var time: UInt32 = 0
        try intruder.run(context, every: .seconds(1)) { _ throws(WireError) in
            time &+= 90_000
            let payloads = head + sets + slices
            for (index, payload) in payloads.enumerated() {
                intruder.peer.send(
                    payload: payload, type: HostileOffer.h264, ssrc: intruder.peer.offer.videoSSRC, timestamp: time,
                    marker: index == payloads.count - 1)
                // 2000 at once would not fit into the server's socket buffer.
                if index % 100 == 99 { intruder.peer.socket.wait(.milliseconds(5)) }
            }
        }
    }

    /// Sends a real keyframe, after which the server accepts the following frames.
    private static func begin(_ codec: VideoCodec, _ peer: HostilePeer) throws {
        let frame = try (codec == .h264 ? DecodeBombs.smallH264 : DecodeBombs.smallVP8).get()
        let payloads = Packetizing.payloads(of: frame)
        for (index, payload) in payloads.enumerated() {
            peer.send(
                payload: payload, type: codec == .h264 ? HostileOffer.h264 : HostileOffer.vp8,
                ssrc: peer.offer.videoSSRC, timestamp: 0,
                marker: index == payloads.count - 1)
        }
    }

    /// - Parameter make: returns, for a packet's number, the payload, the number of its picture, and whether it is the
    ///   last of the picture.
    private static func stream(
        _ context: AttackContext, _ codec: VideoCodec, perSecond rate: Int,
        _ make: (Int) -> (payload: [UInt8], picture: Int, isLast: Bool)
    ) throws {
        let intruder = try context.enter("payload", codecs: [codec])
        try begin(codec, intruder.peer)
        var number = 0
        try intruder.run(context, every: .milliseconds(5)) { _ throws(WireError) in
            for _ in 0..<rate / 200 {
                let packet = make(number)
                intruder.peer.send(
                    payload: packet.payload, type: codec == .h264 ? HostileOffer.h264 : HostileOffer.vp8,
                    ssrc: intruder.peer.offer.videoSSRC,
                    timestamp: UInt32(truncatingIfNeeded: (packet.picture + 1) * 3000), marker: packet.isLast)
                number += 1
            }
        }
    }

    private static func numbers(_ context: AttackContext, perSecond rate: Int, _ sequence: (Int) -> UInt16) throws {
        let intruder = try context.enter("payload", codecs: [.vp8])
        let key = Packetizing.payloads(of: try DecodeBombs.smallVP8.get())
        for (index, payload) in key.enumerated() {
            intruder.peer.send(
                rtp: HostilePeer.packet(
                    payload, type: HostileOffer.vp8, ssrc: intruder.peer.offer.videoSSRC, sequence: UInt16(index),
                    timestamp: 0,
                    marker: index == key.count - 1))
        }
        let body: [UInt8] = [0x10] + [UInt8](repeating: 3, count: 100)
        var number = 8
        try intruder.run(context, every: .milliseconds(5)) { _ throws(WireError) in
            for _ in 0..<rate / 200 {
                intruder.peer.send(
                    rtp: HostilePeer.packet(
                        body, type: HostileOffer.vp8, ssrc: intruder.peer.offer.videoSSRC, sequence: sequence(number),
                        timestamp: UInt32(truncatingIfNeeded: number / 4 * 3000), marker: number % 4 == 3))
                number += 1
            }
        }
    }
}
