import Basics

/// Reassembles the packets of one VP8 frame (RFC 7741 §4.5).
struct VP8Depacketizer: Sendable {
    /// The size in the newest keyframe.
    private(set) var width = 0
    private(set) var height = 0

    init() {}

    /// Assembles the frame of these payloads, which are contiguous, in order and begin with the frame's first.
    mutating func assemble(_ payloads: [[UInt8]], timestamp: Int64) -> AssemblyResult {
        var data: [UInt8] = []
        data.reserveCapacity(payloads.reduce(0) { $0 + $1.count })
        var layer: UInt8 = 0
        for (index, payload) in payloads.enumerated() {
            guard let (descriptor, size) = VP8Descriptor.parse(payload.span), size < payload.count else {
                return .broken
            }
            // Another frame starts in the middle: these packets are not one frame.
            guard descriptor.startsFrame == (index == 0) else { return .broken }
            if index == 0 { layer = descriptor.temporalLayer ?? 0 }
            data += payload[size...]
        }
        guard let header = VP8FrameHeader(data.span) else { return .broken }
        if header.isKeyframe {
            width = header.width
            height = header.height
        }
        return .frame(
            EncodedVideoFrame(
                codec: .vp8, data: data, isKeyframe: header.isKeyframe, temporalLayer: layer, timestamp: timestamp,
                width: width,
                height: height))
    }
}
