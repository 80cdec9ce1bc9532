import Basics
import Fuzzing

@testable import Peer

/// The far end of an SCTP association by a script: it knows the numbers of both ends, so that its chunks are accepted.
struct SCTPScript {
    /// The most bytes of chunks in one DTLS packet.
    private static let packetSize = 1132
    private static let mostCopies = 4096

    /// The next TSN of the script's own.
    var next: UInt32
    /// The highest received TSN of the association under test.
    var seen: UInt32
    private var numbers: [UInt16: UInt16] = [:]

    init(next: UInt32, seen: UInt32) {
        self.next = next
        self.seen = seen
    }

    /// Reads the numbers in the packets of the association.
    mutating func note(_ packet: SCTPPacket) {
        for case .data(let data) in packet.chunks where serialLess(seen, data.tsn) { seen = data.tsn }
    }

    /// The next operation of the script, as lists of chunks: one list is one packet. `most` bounds their bytes.
    mutating func packets(_ input: inout FuzzInput, most: Int) -> [[UInt8]] {
        switch input.below(12) {
        case 0, 1: return [message(&input)]
        case 2, 3, 4: return burst(&input, most: most)
        case 5: return [encoded(acknowledgement(&input))]
        case 6: return [encoded(forward(&input))]
        case 7: return [encoded(reset(&input))]
        case 8: return [open(&input)]
        case 9:
            var bytes: [UInt8] = []
            SCTPChunk.append(UInt16(input.byte()) << 8 | UInt16(input.byte()), input.chunk(), to: &bytes)
            return [bytes]
        case 10: return [input.chunk()]
        default:
            let list: [SCTPChunk] = [
                .heartbeat(input.chunk()), .heartbeatAck([]), .cookieAck, .cookieEcho(input.chunk()), .shutdown(seen),
                .shutdownAck, .abort([]),
                .shutdownComplete,
            ]
            return [encoded(list[input.below(list.count)])]
        }
    }

    private func encoded(_ chunk: SCTPChunk) -> [UInt8] {
        var bytes: [UInt8] = []
        chunk.encode(into: &bytes)
        return bytes
    }

    private mutating func data(stream: UInt16, flags: UInt8, ppid: UInt32, payload: [UInt8]) -> SCTPChunk {
        defer {
            next &+= 1
            if flags & 1 != 0, flags & 4 == 0 { numbers[stream, default: 0] &+= 1 }
        }
        return .data(
            SCTPData(
                tsn: next, stream: stream, ssn: numbers[stream, default: 0], ppid: ppid, unordered: flags & 4 != 0,
                begins: flags & 2 != 0,
                ends: flags & 1 != 0,
                payload: payload))
    }

    /// One DATA chunk: a whole message, a fragment, a late or an early one.
    private mutating func message(_ input: inout FuzzInput) -> [UInt8] {
        let flags = input.byte()
        let ppid = Self.protocols[Int(flags >> 5)]
        let stream = UInt16(input.byte())
        if flags & 8 != 0 { next = next &+ UInt32(bitPattern: Int32(Int8(bitPattern: input.byte()))) }
        if flags & 16 != 0 { numbers[stream] = input.number16() }
        return encoded(data(stream: stream, flags: flags & 7, ppid: ppid, payload: input.chunk()))
    }

    /// Payload protocol identifiers: text, binary, partial and empty ones, control, and an unknown one (RFC 8831 §8).
    private static let protocols: [UInt32] = [51, 53, 52, 54, 56, 57, 50, 99]

    /// Many DATA chunks that differ only in their numbers.
    private mutating func burst(_ input: inout FuzzInput, most: Int) -> [[UInt8]] {
        let shape = input.byte()
        let copies = input.repetitions(upTo: Self.mostCopies)
        let payload = [UInt8](repeating: shape, count: shape & 0x80 != 0 ? Int(input.number16() % 1100) + 1 : 1)
        var stream = UInt16(input.byte())
        var packets: [[UInt8]] = []
        var packet: [UInt8] = []
        var size = 0
        for copy in 0..<copies {
            var flags = shape & 7
            // One long message: the first begins it, the last ends it.
            if shape & 8 != 0 { flags = shape & 4 | (copy == 0 ? 2 : 0) | (copy == copies - 1 ? 1 : 0) }
            let bytes = encoded(data(stream: stream, flags: flags, ppid: 53, payload: payload))
            if shape & 16 != 0 { next &+= 1 }
            if shape & 32 != 0 { stream &+= 1 }
            if shape & 64 != 0 { numbers[stream, default: 0] &+= 1 }
            if packet.count + bytes.count > Self.packetSize {
                packets.append(packet)
                packet = []
            }
            packet += bytes
            size += bytes.count
            if size > most { break }
        }
        return packets + [packet]
    }

    private func acknowledgement(_ input: inout FuzzInput) -> SCTPChunk {
        let shape = input.byte()
        var sack = SCTPSack(
            cumulative: seen &- UInt32(input.byte() & 0x3F), window: shape & 1 == 0 ? 1 << 20 : input.number32(),
            gaps: [], duplicates: [])
        if shape & 2 != 0 { sack.cumulative = sack.cumulative &+ input.number32() }
        if shape & 4 != 0 {
            let width = UInt16(input.byte())
            var start = UInt16(input.byte())
            for _ in 0..<input.repetitions(upTo: 250) {
                sack.gaps.append(start...max(start, start &+ width))
                start = start &+ (shape & 8 == 0 ? width &+ 2 : 0)
            }
        }
        if shape & 16 != 0 { sack.duplicates = [UInt32](repeating: seen, count: input.repetitions(upTo: 200)) }
        return .sack(sack)
    }

    private mutating func forward(_ input: inout FuzzInput) -> SCTPChunk {
        let shape = input.byte()
        let target = next &+ UInt32(shape & 1 == 0 ? UInt16(input.byte()) : input.number16())
        if shape & 2 == 0 { next = target &+ 1 }
        let skips = (0..<input.repetitions(upTo: 250)).map { _ in
            SCTPSkip(stream: UInt16(input.byte()), ssn: shape & 4 == 0 ? UInt16(input.byte()) : input.number16())
        }
        return .forwardTSN(target, skips)
    }

    private func reset(_ input: inout FuzzInput) -> SCTPChunk {
        var parameters: [SCTPReconfig] = []
        for _ in 0..<input.repetitions(upTo: 60) {
            let kind = input.byte()
            let request = next &+ UInt32(kind >> 4)
            let streams = (0..<Int(input.byte() & 7)).map { _ in UInt16(input.byte()) }
            switch kind & 3 {
            case 0:
                parameters.append(
                    .resetOutgoing(
                        request: request, response: request, lastTSN: next &- 1 &+ UInt32(kind >> 2 & 3),
                        streams: streams))
            case 1: parameters.append(.resetIncoming(request: request, streams: streams))
            case 2: parameters.append(.response(request: seen &+ UInt32(kind >> 4), result: UInt32(kind >> 2 & 7)))
            default: parameters.append(.other(request: request))
            }
        }
        return .reconfig(parameters)
    }

    /// DATA_CHANNEL_OPEN (RFC 8832 §5.1), complete or truncated.
    private mutating func open(_ input: inout FuzzInput) -> [UInt8] {
        let type = input.byte()
        let stream = UInt16(input.byte())
        let label = input.chunk()
        var bytes: [UInt8] = [3, type, 1, 0]
        bytes.append32(UInt32(input.byte()))
        bytes.append16(UInt16(label.count))
        bytes.append16(type & 0x40 == 0 ? 0 : input.number16())
        return encoded(data(stream: stream, flags: 3, ppid: 50, payload: bytes + label))
    }
}
