package import Basics

/// The format of the pictures in a coded stream, read from its headers before any picture is decoded.
package struct VideoFormat: Hashable, Sendable {
    /// The size of the coded picture in pixels, before cropping.
    package var width: Int
    package var height: Int
    /// How many decoded pictures the decoder must keep for reference.
    package var referenceFrames: Int
    /// Whether samples have 8 bits and chroma is 4:2:0.
    var isPlain: Bool

    package var pixels: Int { width * height }

    /// The format of an input, which `StreamDecoder` decodes, whatever its samples.
    package init(width: Int, height: Int, referenceFrames: Int) {
        (self.width, self.height, self.referenceFrames, isPlain) = (width, height, referenceFrames, true)
    }

    /// The largest picture that is decoded; a stream with a larger one is refused before memory is allocated for it.
    package static let maxPixels = 4096 * 4096
    /// The most macroblocks of reference pictures: the three of VP8 at the largest size (75 MB), which is a little more
    /// than MaxDpbMbs of H.264's level 5.1 (table A-1: 184 320). This is 24 pictures of 1920 × 1088; since H.264 allows
    /// 16 pictures, the limit affects larger ones only.
    static let maxReferenceMacroblocks = 3 * maxPixels / 256

    /// Why no decoder is opened for this format; nil where it is decoded.
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
    /// The format of a VP8 frame (RFC 6386 §9.1); nil unless it is a keyframe with a complete header.
    init?(vp8 data: [UInt8]) {
        guard data.count >= 10, data[0] & 1 == 0, data[3] == 0x9D, data[4] == 0x01, data[5] == 0x2A else { return nil }
        width = (Int(data[7]) << 8 | Int(data[6])) & 0x3FFF
        height = (Int(data[9]) << 8 | Int(data[8])) & 0x3FFF
        // VP8 keeps the last, the golden and the altref frame.
        referenceFrames = 3
        isPlain = true
        if width == 0 || height == 0 { return nil }
    }

    /// The format in an H.264 sequence parameter set, whose range `unit` has no start code; nil where it cannot be
    /// parsed.
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

extension VideoFormat {
    /// The format of a keyframe; nil for other frames, and where its header cannot be parsed.
    package init?(of frame: EncodedVideoFrame) {
        switch frame.codec {
        case .av1: return nil
        case .vp8: self.init(vp8: frame.data)
        case .h264:
            let units = H264.units(inAnnexB: frame.data)
            guard let unit = units.first(where: { AnnexB.type(of: $0, in: frame.data) == H264.UnitType.sps }) else {
                return nil
            }
            self.init(h264: frame.data, unit)
        }
    }
}
