import Basics
import Peer

/// The mark in the bytes of a simulated frame or packet, by which the receiver identifies it.
struct MediaMark: Equatable {
    static let size = 10
    /// The capture time.
    var made: Instant
    /// Video: the rung of the ladder (0 is the top). Audio: 1 when the packet also carries the one before.
    var tag: UInt8

    func write(to bytes: inout [UInt8]) {
        bytes.append(0xA5)
        bytes.append64(UInt64(bitPattern: made.nanoseconds))
        bytes.append(tag)
    }

    init(made: Instant, tag: UInt8) {
        self.made = made
        self.tag = tag
    }

    init?(_ bytes: some RandomAccessCollection<UInt8>) {
        guard bytes.count >= Self.size, bytes.first == 0xA5, let tag = bytes.dropFirst(9).first else { return nil }
        let value = bytes.dropFirst().prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.init(made: Instant(nanoseconds: Int64(bitPattern: value)), tag: tag)
    }
}

/// An encoder without pictures: its frame sizes follow a bit rate as those of libvpx, with keyframes several times as
/// large.
struct SyntheticEncoder {
    /// A keyframe is this many average frames.
    static let keyframeSize = 5.0...8.0
    /// The variation of the frame sizes.
    static let unevenness = 0.7...1.3
    /// The part of the exceeded bits (of keyframes) by which each frame is smaller; no frame is smaller than
    /// `leastFrame`.
    static let repayment = 0.08
    static let leastFrame = 0.4

    let width: Int
    let height: Int
    let framesPerSecond: Int
    /// With 2 every other frame is of the upper layer, and smaller.
    let temporalLayers: Int
    let tag: UInt8
    var rate: BitRate
    /// The largest keyframe, as the time that it takes at the bit rate.
    var keyframeLimit: Duration = .milliseconds(500)
    var maxPayload = PacketizedVideoFrame.defaultMaxPayload
    private var random: SeededRandom
    private var debt = 0.0
    private var count = 0
    private(set) var keyframes = 0

    init(width: Int, height: Int, framesPerSecond: Int, temporalLayers: Int, rate: BitRate, tag: UInt8, seed: UInt64) {
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
        self.temporalLayers = temporalLayers
        self.rate = rate
        self.tag = tag
        random = SeededRandom(seed: seed)
    }

    /// Makes a frame. `size` overrides the size from the bit rate, for a single sharp picture.
    mutating func frame(at now: Instant, isKeyframe: Bool, size fixed: Int? = nil) -> PacketizedVideoFrame {
        let isKeyframe = isKeyframe || count == 0
        let average = Double(rate.bitsPerSecond) / 8 / Double(framesPerSecond)
        if isKeyframe { count = 0 }
        let layer: UInt8 = temporalLayers > 1 && count % 2 == 1 ? 1 : 0
        count += 1
        var size = average * Double.random(in: Self.unevenness, using: &random)
        if isKeyframe {
            keyframes += 1
            size = min(
                average * Double.random(in: Self.keyframeSize, using: &random), Double(rate.bytes(in: keyframeLimit)))
        } else {
            if temporalLayers > 1 { size *= layer == 0 ? 1.25 : 0.75 }
            size = max(size - debt * Self.repayment, average * Self.leastFrame)
        }
        debt = max(0, debt + size - average)
        return packetized(size: fixed ?? Int(size), isKeyframe: isKeyframe, layer: layer, at: now)
    }

    /// A VP8 header (RFC 6386 §9.1), the mark, and filler.
    private func packetized(size: Int, isKeyframe: Bool, layer: UInt8, at now: Instant) -> PacketizedVideoFrame {
        let tagBits: UInt32 = (isKeyframe ? 0 : 1) | 1 << 4 | UInt32(max(size, 0) / 2 & 0x7FFFF) << 5
        var data: [UInt8] = []
        data.reserveCapacity(max(size, 32))
        for shift: UInt32 in [0, 8, 16] { data.append(UInt8(truncatingIfNeeded: tagBits >> shift)) }
        if isKeyframe {
            data += [0x9D, 0x01, 0x2A]
            data += [UInt8(width & 0xFF), UInt8(width >> 8), UInt8(height & 0xFF), UInt8(height >> 8)]
        }
        MediaMark(made: now, tag: tag).write(to: &data)
        data += [UInt8](repeating: 0x55, count: max(0, size - data.count))
        return PacketizedVideoFrame(
            EncodedVideoFrame(
                codec: .vp8, data: data, isKeyframe: isKeyframe, temporalLayer: layer, timestamp: now.ticks(at: 90_000),
                width: isKeyframe ? width : 0, height: isKeyframe ? height : 0), maxPayload: maxPayload)
    }

    static func mark(of frame: EncodedVideoFrame) -> MediaMark? {
        MediaMark(frame.data.dropFirst(frame.isKeyframe ? 10 : 3))
    }
}
