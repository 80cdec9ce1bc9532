/// The video codecs that Tessera sends and receives.
public enum VideoCodec: String, Sendable, CaseIterable, Hashable {
    /// H.264 (ITU-T H.264, RFC 6184); VP8 (RFC 6386, RFC 7741).
    case h264, vp8
    /// AV1, which is sent and not decoded.
    case av1

    /// The codecs that are decoded.
    public static let received: [VideoCodec] = [.h264, .vp8]
}

/// How a frame must be turned clockwise for display (urn:3gpp:video-orientation).
public enum Rotation: UInt8, Sendable {
    /// The angle, clockwise.
    case none = 0, clockwise90, clockwise180, clockwise270

    /// Whether display swaps width and height.
    public var isSideways: Bool { self == .clockwise90 || self == .clockwise270 }
}

/// One coded video frame: an H.264 access unit, a VP8 frame or an AV1 temporal unit.
public struct EncodedVideoFrame: Sendable {
    /// The codec.
    public var codec: VideoCodec
    /// H.264: Annex B with 4-byte start codes, SPS and PPS before every IDR. VP8: the bare frame.
    /// AV1: OBUs with their sizes.
    public var data: [UInt8]
    /// Whether the frame can be decoded without any frame before it.
    public var isKeyframe: Bool
    /// 0 is the base layer. A frame of layer n refers only to frames of layers up to n; frames of layer 1 may be
    /// dropped at any time.
    public var temporalLayer: UInt8
    /// Media time in ticks of 90 kHz, unwrapped: on the room's clock for frames that the room sends, on the sender's
    /// clock for frames that were received.
    public var timestamp: Int64
    /// In pixels; 0 where it is not known (H.264 received before its SPS was read).
    public var width: Int
    /// In pixels; 0 where it is not known.
    public var height: Int

    /// A frame of these parts.
    public init(
        codec: VideoCodec, data: [UInt8], isKeyframe: Bool, temporalLayer: UInt8 = 0, timestamp: Int64, width: Int = 0,
        height: Int = 0
    ) {
        self.codec = codec
        self.data = data
        self.isKeyframe = isKeyframe
        self.temporalLayer = temporalLayer
        self.timestamp = timestamp
        self.width = width
        self.height = height
    }
}
