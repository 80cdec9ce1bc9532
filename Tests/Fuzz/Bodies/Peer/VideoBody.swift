import Basics
import Fuzzing

@testable import Peer

/// Video packets in any order and with any content, for the buffer that orders, repairs and assembles them.
enum VideoBody {
    static let target = FuzzTarget(
        "video", covers: "the receive buffer of pictures, H.264 and VP8 depacketizers",
        limits: WorkLimits(perByte: .nanoseconds(40), memory: 12 << 20), maximumLength: 8192,
        seeds: { [call(.vp8), call(.h264)] + crowds }, body: run)

    private static let types: [UInt8: VideoCodec] = [96: .vp8, 97: .h264]
    /// The most packets of one input: a second of 4 Mbit/s.
    private static let mostBytes = 512 << 10
    /// The most packets of one operation, so that others can follow, such as the packet that ends the frame.
    private static let mostBurst = 384 << 10

    private static let mostOperations = 400

    private static func run(_ input: FuzzInput, _ work: inout Work) {
        var input = input
        var buffer = VideoReceiveBuffer(codecs: types)
        var now = Instant.zero
        var sequence: Int64 = 1000
        var timestamp: Int64 = 90_000
        work.start()
        for _ in 0..<mostOperations where !input.isEmpty && work.bytes < mostBytes {
            switch input.below(8) {
            case 0:
                now += .milliseconds(Int64(input.byte()) * Int64(input.byte() & 7))
                buffer.advance(to: now, roundTrip: .milliseconds(50))
            case 1: buffer.requestKeyframe()
            case 2 where input.byte() == 0: buffer.reset()
            default:
                let shape = input.byte()
                let copies = shape & 1 == 0 ? 1 : input.repetitions(upTo: 2048)
                let payload = VideoPayload(&input)
                let jump = shape & 2 == 0 ? 1 : Int64(Int8(bitPattern: input.byte()))
                timestamp += shape & 4 == 0 ? 0 : shape & 8 == 0 ? 3600 : Int64(Int32(bitPattern: input.number32()))
                let end = min(work.bytes + mostBurst, mostBytes)
                for copy in 0..<copies where work.bytes < end {
                    sequence += jump
                    let bytes = payload.bytes(copy)
                    work.step(bytes: bytes.count + 12)
                    buffer.insert(
                        payload: bytes.span, payloadType: payload.payloadType, sequence: sequence, timestamp: timestamp,
                        marker: shape & 16 != 0 && copy == copies - 1, isRetransmission: shape & 32 != 0, at: now)
                    if shape & 64 != 0 { now += .milliseconds(1) }
                }
            }
            while buffer.nextFrame() != nil { work.step() }
            _ = buffer.nextNacks(at: now)
            _ = buffer.takeKeyframeRequest(at: now)
            _ = buffer.nextDeadline
        }
        work.weigh()
    }

    /// Three keyframes, each with a frame behind it.
    private static func call(_ codec: VideoCodec) -> [UInt8] {
        var script = FuzzScript()
        for _ in 0..<3 {
            for picture in MediaSeeds.pictures(codec) { append(picture, codec, to: &script) }
            script.raw([0, 40, 1])
        }
        return script.bytes
    }

    /// Many packets in one frame behind a keyframe: parameter sets, fragments, parts of a VP8 frame, between its first
    /// and its last packet. Each is a seed of its own, because a fuzzer changes the relevant bytes of a short seed
    /// sooner.
    private static var crowds: [[UInt8]] {
        let crowds: [(codec: VideoCodec, first: [UInt8], many: [UInt8], last: [UInt8])] = [
            (.h264, [0x41, 0x9A], [3, 10, 0x67, 2], [0x41, 0x9A, 0x80, 1]),
            (.h264, [0x41, 0x9A], [3, 10, 0x68, 2], [0x41, 0x9A, 0x80, 1]),
            (.h264, [0x41, 0x9A], [3, 10, 0x06, 2], [0x41, 0x9A, 0x80, 1]),
            (.h264, [0x7C, 0x81, 0x9A], [5, 0x01, 0, 20], [0x7C, 0x41, 0x80, 1]),
            (.vp8, [0x10, 1, 0, 0, 1], [6, 1, 0x00, 0, 20], [0x00, 1]),
        ]
        return crowds.map { codec, first, many, last in
            var script = FuzzScript()
            append(MediaSeeds.pictures(codec)[0].map { Array($0.prefix(32)) }, codec, to: &script)
            script.raw([3, 4, codec == .h264 ? 1 : 0])
            script.chunk(first)
            script.raw([3, 1, 11] + many)
            script.raw([3, 16, codec == .h264 ? 1 : 0])
            script.chunk(last)
            return script.bytes
        }
    }

    /// A new timestamp with the first packet, the marker with the last.
    private static func append(_ picture: [[UInt8]], _ codec: VideoCodec, to script: inout FuzzScript) {
        for (index, payload) in picture.enumerated() {
            script.raw([3, (index == 0 ? 4 : 0) | (index == picture.count - 1 ? 16 : 0), codec == .vp8 ? 0 : 1])
            script.chunk(payload)
        }
    }
}

/// A payload that a script describes; a few bytes of the script stand for many units.
struct VideoPayload {
    private enum Content {
        case raw([UInt8])
        /// A STAP-A (RFC 6184 §5.7.1) of different units: a header, then a running number.
        case units(count: Int, header: UInt8, length: Int)
        /// One fragment of a NAL unit (RFC 6184 §5.8).
        case fragment(header: UInt8, length: Int)
        case vp8(descriptor: [UInt8], length: Int)
    }

    private let content: Content
    let payloadType: UInt8

    init(_ input: inout FuzzInput) {
        let kind = input.byte()
        payloadType = kind & 1 == 0 ? 96 : 97
        switch kind >> 1 & 3 {
        case 1: content = .units(count: Int(input.byte()), header: input.byte(), length: Int(input.byte() & 31))
        case 2: content = .fragment(header: input.byte(), length: Int(input.number16() % 1200))
        case 3: content = .vp8(descriptor: input.bytes(input.below(7)), length: Int(input.number16() % 1200))
        default: content = .raw(Array(input.chunk().prefix(1400)))
        }
    }

    /// - Parameter copy: the number of earlier copies, by which all copies differ.
    func bytes(_ copy: Int) -> [UInt8] {
        switch content {
        case .raw(let bytes): return bytes
        case .units(let count, let header, let length):
            var bytes: [UInt8] = [24]
            for index in 0..<count where bytes.count + length + 8 < 1400 {
                let number = UInt32(copy * count + index)
                bytes.append16(UInt16(4 + length))
                bytes.append(header)
                bytes.append24(0x80_0000 | number)
                bytes += [UInt8](repeating: 1, count: length)
            }
            return bytes
        case .fragment(let header, let length):
            return [0x7C, header] + [UInt8](repeating: UInt8(truncatingIfNeeded: copy), count: length)
        case .vp8(let descriptor, let length):
            return descriptor + [UInt8](repeating: UInt8(truncatingIfNeeded: copy), count: length)
        }
    }
}
