import Basics

/// Makes RTCP packets (RFC 3550 §6, RFC 4585 §6.1) with any values.
enum HostileRTCP {
    static let transportFeedback: UInt8 = 205
    static let payloadFeedback: UInt8 = 206

    static func packet(_ type: UInt8, count: UInt8, _ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [0x80 | count & 31, type]
        var body = body
        while body.count & 3 != 0 { body.append(0) }
        bytes.append16(UInt16(truncatingIfNeeded: body.count / 4))
        return bytes + body
    }

    static func feedback(_ type: UInt8, format: UInt8, sender: UInt32, media: UInt32, _ content: [UInt8]) -> [UInt8] {
        var body: [UInt8] = []
        body.append32(sender)
        body.append32(media)
        return packet(type, count: format, body + content)
    }

    /// A receiver report without blocks, the start of a compound packet.
    static func report(_ sender: UInt32) -> [UInt8] {
        var body: [UInt8] = []
        body.append32(sender)
        return packet(201, count: 0, body)
    }

    /// TMMBR (RFC 5104 §4.2.1) with any exponent, mantissa and overhead.
    static func temporaryLimit(sender: UInt32, stream: UInt32, exponent: UInt32, mantissa: UInt32, overhead: UInt32)
        -> [UInt8]
    {
        var content: [UInt8] = []
        content.append32(stream)
        content.append32(exponent << 26 | (mantissa & 0x1FFFF) << 9 | overhead & 0x1FF)
        return feedback(transportFeedback, format: 3, sender: sender, media: 0, content)
    }

    /// REMB (draft-alvestrand-rmcat-remb §2.2).
    static func estimate(sender: UInt32, exponent: UInt32, mantissa: UInt32, streams: [UInt32]) -> [UInt8] {
        var content = Array("REMB".utf8)
        content.append32(UInt32(streams.count & 255) << 24 | exponent << 18 | mantissa & 0x3FFFF)
        for stream in streams { content.append32(stream) }
        return feedback(payloadFeedback, format: 15, sender: sender, media: 0, content)
    }

    /// A REMB of 5 Mbit/s (0x13880 × 2⁶), after which the server sends its top rung.
    static func praise(_ peer: HostilePeer) -> [UInt8] {
        report(peer.offer.videoSSRC)
            + estimate(sender: peer.offer.videoSSRC, exponent: 6, mantissa: 0x13880, streams: [peer.answer.videoSSRC])
    }

    /// Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions §3.1) in run-length chunks: `count`
    /// packets from `base` on, all of one `symbol` (0: lost).
    static func transport(
        sender: UInt32, media: UInt32, base: UInt16, count: UInt16, symbol: UInt16, number: UInt8, deltas: [UInt8] = []
    ) -> [UInt8] {
        var content: [UInt8] = []
        content.append16(base)
        content.append16(count)
        content.append32(UInt32(number))
        var left = Int(count)
        while left > 0 {
            let run = min(left, 8191)
            content.append16(symbol << 13 | UInt16(run))
            left -= run
        }
        return feedback(transportFeedback, format: 15, sender: sender, media: media, content + deltas)
    }
}
