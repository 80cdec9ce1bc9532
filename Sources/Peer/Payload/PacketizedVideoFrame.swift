public import Basics

/// A frame that is split into packets once and sent to many peers.
///
/// Payloads of H.264 (RFC 6184) and AV1 are complete. VP8 payloads carry no descriptor: each sender writes its own
/// before them, since picture ids continue across renditions per peer (RFC 7741 §4.2).
public final class PacketizedVideoFrame: Sendable {
    /// One packet's payload.
    public struct Fragment: Sendable, Equatable {
        /// The range in `bytes`.
        public var range: Range<Int>
        /// Whether it is the frame's first packet: VP8's S bit.
        public var isFirst: Bool
        /// Whether it is the frame's last packet: the marker.
        public var isLast: Bool
    }

    /// With header, extensions, VP8 descriptor, RTX's OSN and SRTP's tag a packet stays below 1200 bytes of UDP
    /// payload.
    public static let defaultMaxPayload = 1100

    /// The frame's codec.
    public let codec: VideoCodec
    /// Whether it can be decoded without any earlier frame.
    public let isKeyframe: Bool
    /// 0 is the base layer; frames of layer 1 may be dropped.
    public let temporalLayer: UInt8
    /// Whether a layer-1 frame needs only the base layer; true for the two-layer pattern, in which each refers to the
    /// base.
    public let layerSync: Bool
    /// Room time in 90 kHz.
    public let timestamp: Int64
    /// Width in pixels; 0 if unknown.
    public let width: Int
    /// Height in pixels; 0 if unknown.
    public let height: Int
    /// The concatenated payloads.
    public let bytes: [UInt8]
    /// The packets' payloads, in order.
    public let fragments: [Fragment]
    /// Whether a NAL unit was larger than `maxPayload` although packetization-mode 0 cannot split it; it is sent as one
    /// large packet.
    public let hasOversizeFragment: Bool

    /// Splits a frame. `packetizationMode` is H.264's: 0 allows single NAL units only, so the encoder must keep them
    /// small.
    public init(
        _ frame: EncodedVideoFrame, maxPayload: Int = PacketizedVideoFrame.defaultMaxPayload,
        packetizationMode: Int = 1,
        layerSync: Bool? = nil
    ) {
        codec = frame.codec
        isKeyframe = frame.isKeyframe
        temporalLayer = frame.temporalLayer
        self.layerSync = layerSync ?? (frame.temporalLayer > 0)
        timestamp = frame.timestamp
        width = frame.width
        height = frame.height
        let limit = max(maxPayload, 16)
        switch frame.codec {
        case .vp8:
            bytes = frame.data
            fragments = Self.evenParts(of: 0..<frame.data.count, limit: limit).enumerated().map { index, range in
                Fragment(range: range, isFirst: index == 0, isLast: range.upperBound == frame.data.count)
            }
        case .av1:
            let payloads = AV1Units.payloads(of: frame.data, isKeyframe: frame.isKeyframe, limit: limit)
            bytes = Array(payloads.joined())
            var start = 0
            fragments = payloads.enumerated().map { index, payload in
                defer { start += payload.count }
                return Fragment(
                    range: start..<start + payload.count, isFirst: index == 0, isLast: index == payloads.count - 1)
            }
        case .h264:
            var cutter = H264Cutter(source: frame.data, limit: limit)
            for unit in H264.units(inAnnexB: frame.data) { cutter.add(unit, mode: packetizationMode) }
            cutter.endAggregate()
            bytes = cutter.bytes
            fragments = cutter.ranges.enumerated().map { [last = cutter.ranges.count - 1] index, range in
                Fragment(range: range, isFirst: index == 0, isLast: index == last)
            }
        }
        hasOversizeFragment = fragments.contains { $0.range.count > limit }
    }

    /// Splits a range into parts of one size, the last a few bytes shorter: a frame just over the limit must not end in
    /// a packet of three bytes, and equal packets of one frame are sent with one write (UDP_SEGMENT), in which no
    /// packet may be larger than the ones before it.
    static func evenParts(of range: Range<Int>, limit: Int) -> [Range<Int>] {
        guard !range.isEmpty else { return [] }
        let count = (range.count + limit - 1) / limit
        let size = (range.count + count - 1) / count
        return stride(from: range.lowerBound, to: range.upperBound, by: size).map {
            $0..<min($0 + size, range.upperBound)
        }
    }
}

/// Writes RFC 6184 payloads of one access unit: single NAL, STAP-A for parameter sets and other small units, FU-A.
private struct H264Cutter {
    let source: [UInt8]
    let limit: Int
    var bytes: [UInt8] = []
    var ranges: [Range<Int>] = []
    /// Small units that wait to share a packet.
    private var pending: [Range<Int>] = []
    private var pendingSize = 1

    init(source: [UInt8], limit: Int) {
        self.source = source
        self.limit = limit
        bytes.reserveCapacity(source.count + 64)
    }

    mutating func add(_ unit: Range<Int>, mode: Int) {
        switch source[unit.lowerBound] & 31 {
        // These units are of no use to receivers (RFC 6184 §5.2 does not use them) and confuse their frame assembly.
        case H264.UnitType.delimiter, H264.UnitType.filler, 0, 24...31: return
        default: break
        }
        guard mode >= 1 else {
            single(unit)
            return
        }
        if unit.count + 2 > limit - 1 {
            endAggregate()
            if source[unit.lowerBound] & 31 == H264.UnitType.idr { repeatParameterSets() }
            unit.count <= limit ? single(unit) : fragment(unit)
        } else {
            if pendingSize + 2 + unit.count > limit { endAggregate() }
            pending.append(unit)
            pendingSize += 2 + unit.count
        }
    }

    /// Ends the aggregate (RFC 6184 §5.7.1). Its NRI is the largest inside, its F bit the union.
    mutating func endAggregate() {
        defer {
            pending = []
            pendingSize = 1
        }
        guard pending.count > 1 else {
            if let unit = pending.first { single(unit) }
            return
        }
        let start = bytes.count
        let headers = pending.map { source[$0.lowerBound] }
        let importance = headers.map { $0 & 0x60 }.max() ?? 0
        bytes.append(headers.reduce(0) { $0 | $1 & 0x80 } | importance | H264NAL.stapA)
        for unit in pending {
            bytes.append16(UInt16(truncatingIfNeeded: unit.count))
            bytes += source[unit]
        }
        ranges.append(start..<bytes.count)
    }

    /// Repeats the packet with the parameter sets: a keyframe without it is useless, and libwebrtc drops the first
    /// packet of an IDR whose sets it does not know, so that a retransmission comes too late.
    private mutating func repeatParameterSets() {
        guard ranges.count == 1, let sets = ranges.first, bytes[sets.lowerBound] & 31 == H264NAL.stapA else { return }
        let start = bytes.count
        bytes += bytes[sets]
        ranges.append(start..<bytes.count)
    }

    private mutating func single(_ unit: Range<Int>) {
        let start = bytes.count
        bytes += source[unit]
        ranges.append(start..<bytes.count)
    }

    /// RFC 6184 §5.8.
    private mutating func fragment(_ unit: Range<Int>) {
        let header = source[unit.lowerBound]
        let parts = PacketizedVideoFrame.evenParts(of: unit.lowerBound + 1..<unit.upperBound, limit: limit - 2)
        for (index, part) in parts.enumerated() {
            let start = bytes.count
            bytes.append(header & 0xE0 | H264NAL.fuA)
            bytes.append((index == 0 ? 0x80 : 0) | (index == parts.count - 1 ? 0x40 : 0) | header & 31)
            bytes += source[part]
            ranges.append(start..<bytes.count)
        }
    }
}
