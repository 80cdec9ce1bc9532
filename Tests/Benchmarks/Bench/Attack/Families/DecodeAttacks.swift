import Basics

/// Pictures that are cheap to send and expensive to decode.
enum DecodeAttacks {
    static let all: [Attack] = [
        Attack(
            "decode-h264-4096", "H.264 of 4096×4096 that stands still, 60 pictures a second.",
            prepare: { _ = try DecodeBombs.h264.get() }
        ) {
            try send($0, DecodeBombs.h264, perSecond: 60)
        },
        Attack(
            "decode-vp8-4096", "VP8 of 4096×4096 that stands still, 60 pictures a second.",
            prepare: { _ = try DecodeBombs.vp8.get() }
        ) {
            try send($0, DecodeBombs.vp8, perSecond: 60)
        },
        // The decoders of large pictures together may keep 830 MB by default; see `SharedDecodeBudget`.
        Attack(
            "decode-vp8-4096-six", "The same from six participants of one room.", memory: 880,
            prepare: { _ = try DecodeBombs.vp8.get() }
        ) { context in
            for number in 2...6 { context.spawn { try send($0, DecodeBombs.vp8, perSecond: 30, as: number) } }
            try send(context, DecodeBombs.vp8, perSecond: 30)
        },
        Attack(
            "decode-444",
            "H.264 High 4:4:4 Predictive of 4096×4096 at 10 bits with 16 reference pictures, 30 a second.",
            prepare: { _ = try DecodeBombs.fourFourFour.get() }
        ) { try send($0, DecodeBombs.fourFourFour, perSecond: 30) },
        Attack(
            "decode-h264-sizes", "H.264 keyframes of another size each, up to 3840×2160, 60 a second.",
            prepare: { _ = try DecodeBombs.h264Sizes.get() }
        ) {
            try send($0, DecodeBombs.h264Sizes, perSecond: 60)
        },
        Attack(
            "decode-vp8-sizes", "VP8 keyframes of another size each, up to 3840×2160, 60 a second.",
            prepare: { _ = try DecodeBombs.vp8Sizes.get() }
        ) {
            try send($0, DecodeBombs.vp8Sizes, perSecond: 60)
        },
        Attack(
            "decode-rate", "An ordinary picture of 640×360, 600 times a second.",
            prepare: { _ = try DecodeBombs.noise.get() }
        ) {
            try send($0, DecodeBombs.noise, perSecond: 600)
        },
        Attack(
            "decode-inside", "VP8 keyframes of another size each, sent into the bystanders' own room.",
            prepare: { _ = try DecodeBombs.vp8Sizes.get() }
        ) { try send($0, DecodeBombs.vp8Sizes, perSecond: 60, room: "calm") },
    ]

    /// Sends frames repeatedly, as a participant who is shown.
    static func send(
        _ context: AttackContext, _ frames: Result<[EncodedVideoFrame], any Error>, perSecond rate: Int,
        as number: Int = 1, room: String = "decode"
    ) throws {
        let frames = try frames.get()
        guard let codec = frames.first?.codec else { return }
        let packets = frames.map { Packetizing.payloads(of: $0) }
        let intruder = try context.enter(room, as: number, codecs: [codec])
        try intruder.wire.send(["type": "state", "audio": false, "video": true])
        let type = codec == .h264 ? HostileOffer.h264 : HostileOffer.vp8
        var sent = 0
        try intruder.run(context, every: .nanoseconds(Int64(1_000_000_000 / rate))) { now throws(WireError) in
            let payloads = packets[sent % packets.count]
            for (index, payload) in payloads.enumerated() {
                intruder.peer.send(
                    payload: payload, type: type, ssrc: intruder.peer.offer.videoSSRC,
                    timestamp: UInt32(truncatingIfNeeded: now.ticks(at: 90_000)),
                    marker: index == payloads.count - 1)
                if index % 100 == 99 { intruder.peer.socket.wait(.milliseconds(2)) }
            }
            sent += 1
        }
    }
}
