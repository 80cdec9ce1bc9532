import Basics

/// What a coded stream's headers say of its pictures, before any of them is decoded.
public struct VideoFormat: Hashable, Sendable {
    /// Of the coded picture in pixels, before cropping.
    public var width: Int
    public var height: Int
    /// How many decoded pictures the decoder must keep for later ones.
    public var referenceFrames: Int
    /// Three planes of 8 bit, chroma of half the width and height.
    var isPlain: Bool

    public var pixels: Int { width * height }

    /// A stream of more pixels is refused before memory is spent on it.
    public static let maxPixels = 4096 * 4096
    /// Macroblocks that the decoder keeps of earlier pictures: the three of VP8 at the largest size, 75 MB, and a
    /// little more than MaxDpbMbs of H.264's level 5.1 (table A-1: 184 320). It is 24 pictures of 1920 × 1088, of which
    /// H.264 allows 16, and so binds larger ones only.
    static let maxReferenceMacroblocks = 3 * maxPixels / 256

    /// Why no decoder is opened for it; nil: one may be.
    var refusal: String? {
        if !isPlain { return "the picture is not 8 bit 4:2:0, the only format that is decoded" }
        if pixels > Self.maxPixels { return "a picture of \(width)×\(height) is larger than is decoded" }
        if (pixels + 255) / 256 * referenceFrames > Self.maxReferenceMacroblocks {
            return "\(referenceFrames) reference frames of \(width)×\(height) are more than is kept"
        }
        return nil
    }
}

extension VideoFormat {
    /// Of a VP8 frame (RFC 6386 §9.1); nil unless it is a keyframe with a whole header.
    init?(vp8 data: [UInt8]) {
        guard data.count >= 10, data[0] & 1 == 0, data[3] == 0x9D, data[4] == 0x01, data[5] == 0x2A else { return nil }
        width = (Int(data[7]) << 8 | Int(data[6])) & 0x3FFF
        height = (Int(data[9]) << 8 | Int(data[8])) & 0x3FFF
        // The last, the golden and the altref frame.
        referenceFrames = 3
        isPlain = true
        if width == 0 || height == 0 { return nil }
    }

    /// Of an H.264 sequence parameter set, `unit` without a start code; nil where it cannot be read.
    init?(h264 data: [UInt8], _ unit: Range<Int>) {
        guard let set = H264SequenceParameterSet(data.span.extracting(unit.clamped(to: 0..<data.count))) else {
            return nil
        }
        width = set.codedWidth
        height = set.codedHeight
        referenceFrames = set.referenceFrames
        isPlain = set.isPlain
    }
}
