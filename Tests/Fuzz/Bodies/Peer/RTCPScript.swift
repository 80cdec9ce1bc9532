import Basics
import Fuzzing

/// The far end's reports by a script: they concern the server's streams, with their SSRCs and last sequence numbers,
/// and have values that the library's writers do not make.
struct RTCPScript {
    /// The SSRCs of the server's audio, video and repairs.
    var sound: UInt32
    var picture: UInt32
    var repair: UInt32
    /// The far end's SSRC.
    let sender: UInt32 = 0x2222
    /// The server's last RTP sequence number of each SSRC, and its number of packets, which is the transport-wide
    /// number.
    var sent: [UInt32: UInt16]
    var packetsSent: Int

    /// A compound of a few packets.
    func compound(_ input: inout FuzzInput) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0...input.below(4) { bytes += packet(&input) }
        return bytes
    }

    private func ssrc(_ input: inout FuzzInput) -> UInt32 {
        let choice = input.byte()
        switch choice & 7 {
        case 0, 1, 2: return picture
        case 3: return sound
        case 4: return repair
        case 5: return sender
        default: return UInt32(choice)
        }
    }

    private func packet(_ input: inout FuzzInput) -> [UInt8] {
        switch input.below(12) {
        case 0: return feedback(205, 1, about: ssrc(&input)) { nack(&input, &$0) }
        case 1: return feedback(205, 3, about: 0) { limits(&input, &$0) }
        case 2: return feedback(205, 4, about: 0) { limits(&input, &$0) }
        case 3: return feedback(205, 15, about: picture) { arrivals(&input, &$0) }
        case 4: return feedback(206, 1, about: ssrc(&input)) { _ in }
        case 5:
            return feedback(206, 4, about: 0) { bytes in
                for _ in 0..<input.repetitions(upTo: 100) {
                    bytes.append32(ssrc(&input))
                    bytes.append32(UInt32(input.byte()) << 24)
                }
            }
        case 6:
            return feedback(206, 15, about: 0) { bytes in
                bytes += Array("REMB".utf8)
                let count = input.byte()
                bytes.append(count)
                bytes.append24(input.number32() >> 8)
                for _ in 0..<min(Int(count), 60) { bytes.append32(ssrc(&input)) }
            }
        case 7:
            var body: [UInt8] = []
            let count = input.below(8)
            body.append32(sender)
            // The times of a sender report: NTP, RTP, packets, octets.
            for _ in 0..<5 { body.append32(input.number32()) }
            for _ in 0..<count { block(&input, &body) }
            return header(200, count) + length(body) + body
        case 8:
            var body: [UInt8] = []
            let count = input.below(32)
            body.append32(sender)
            for _ in 0..<count { block(&input, &body) }
            return header(201, count) + length(body) + body
        case 9:
            var body: [UInt8] = []
            let count = input.below(32)
            for _ in 0..<count { body.append32(ssrc(&input)) }
            return header(203, count) + length(body) + body
        case 10:
            // Extended reports (RFC 3611): blocks of type, specifics, words.
            var body: [UInt8] = []
            body.append32(sender)
            body += input.chunk().prefix(1000)
            body += [UInt8](repeating: 0, count: -body.count & 3)
            return header(207, 0) + length(body) + body
        default:
            let type = input.byte()
            var body = Array(input.chunk().prefix(1000))
            body += [UInt8](repeating: 0, count: -body.count & 3)
            return [0x80 | type & 63, 192 | type >> 2] + length(body) + body
        }
    }

    private func header(_ type: UInt8, _ count: Int) -> [UInt8] { [0x80 | UInt8(count & 31), type] }
    private func length(_ body: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: body.count >> 10), UInt8(truncatingIfNeeded: body.count >> 2)]
    }

    private func feedback(_ type: UInt8, _ format: UInt8, about media: UInt32, _ fill: (inout [UInt8]) -> Void)
        -> [UInt8]
    {
        var body: [UInt8] = []
        body.append32(sender)
        body.append32(media)
        fill(&body)
        body += [UInt8](repeating: 0, count: -body.count & 3)
        return [0x80 | format, type] + length(body) + body
    }

    private func nack(_ input: inout FuzzInput, _ bytes: inout [UInt8]) {
        var number = (sent[picture] ?? 0) &- UInt16(input.byte())
        let step = UInt16(input.byte() & 31)
        for _ in 0..<input.repetitions(upTo: 280) {
            bytes.append16(number)
            bytes.append16(input.isEmpty ? 0xFFFF : input.number16())
            number = number &+ step
        }
    }

    /// Any exponent, mantissa and overhead.
    private func limits(_ input: inout FuzzInput, _ bytes: inout [UInt8]) {
        for _ in 0..<input.repetitions(upTo: 100) {
            bytes.append32(ssrc(&input))
            bytes.append32(input.number32())
        }
    }

    private func arrivals(_ input: inout FuzzInput, _ bytes: inout [UInt8]) {
        let shape = input.byte()
        bytes.append16(UInt16(truncatingIfNeeded: packetsSent) &- UInt16(input.byte()))
        bytes.append16(shape & 1 == 0 ? UInt16(input.byte()) : input.number16())
        bytes.append24(shape & 2 == 0 ? UInt32(input.byte()) : input.number32() >> 8)
        bytes.append(input.byte())
        if shape & 4 == 0 {
            // Runs of losses with the greatest length.
            for _ in 0..<input.repetitions(upTo: 16) { bytes.append16(0x1FFF) }
        }
        bytes += input.chunk().prefix(1000)
    }

    private func block(_ input: inout FuzzInput, _ bytes: inout [UInt8]) {
        let about = ssrc(&input)
        bytes.append32(about)
        bytes.append32(input.number32())
        bytes.append32(UInt32(sent[about] ?? 0) &+ UInt32(input.byte()) << 16 &- UInt32(input.byte()))
        bytes.append32(input.number32())
        bytes.append32(input.number32())
        bytes.append32(UInt32(input.number16()))
    }
}
