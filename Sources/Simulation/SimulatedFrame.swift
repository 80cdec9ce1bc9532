public import Basics
public import Peer

/// Frames that a depacketizer accepts, made without an encoder: headers of 640×360 as decoders parse them, then filler.
public enum SimulatedFrame {
    public static let width = 640
    public static let height = 360

    /// Constrained baseline, level 3.0 (ITU-T H.264 §7.3.2.1.1).
    private static let sequenceParameterSet: [UInt8] = [
        0x67, 0x42, 0xC0, 0x1E, 0xD9, 0x00, 0xA0, 0x2F, 0xF9, 0x61, 0x00, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x03,
        0x00, 0x3C, 0x8F, 0x16, 0x2E,
        0x48,
    ]
    private static let pictureParameterSet: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]
    /// Annex B (ITU-T H.264 §B.1).
    private static let startCode: [UInt8] = [0, 0, 0, 1]

    /// - Parameters:
    /// - size: in bytes; the headers are always complete.
    ///   - timestamp: in units of 1/90,000 s.
    public static func make(_ codec: VideoCodec, isKeyframe: Bool, bytes size: Int, timestamp: Int64)
        -> PacketizedVideoFrame
    {
        var data = header(codec, isKeyframe: isKeyframe, bytes: size)
        while data.count < size { data.append(UInt8(truncatingIfNeeded: data.count &* 31) | 1) }
        return PacketizedVideoFrame(
            EncodedVideoFrame(
                codec: codec, data: data, isKeyframe: isKeyframe, timestamp: timestamp, width: isKeyframe ? width : 0,
                height: isKeyframe ? height : 0))
    }

    private static func header(_ codec: VideoCodec, isKeyframe: Bool, bytes size: Int) -> [UInt8] {
        switch codec {
        case .av1:
            // A sequence header where it is a keyframe, and a frame to the end of the data.
            let start: [UInt8] = isKeyframe ? [0x0A, 0x01, 0x00] : []
            return start + [0x30]
        case .vp8:
            // RFC 6386 §9.1: the frame tag with the size of the first partition; in a keyframe the start code, width
            // and height.
            let tag: UInt32 = (isKeyframe ? 0 : 1) | 1 << 4 | UInt32(truncatingIfNeeded: size / 2) << 5
            let bytes = [
                UInt8(truncatingIfNeeded: tag), UInt8(truncatingIfNeeded: tag >> 8),
                UInt8(truncatingIfNeeded: tag >> 16),
            ]
            return isKeyframe ? bytes + [0x9D, 0x01, 0x2A, 0x80, 0x02, 0x68, 0x01] : bytes
        case .h264:
            guard isKeyframe else { return startCode + [0x41, 0x9A] }
            return startCode + sequenceParameterSet + startCode + pictureParameterSet + startCode + [0x65, 0x88]
        }
    }
}
