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
    /// Macroblocks that the decoder keeps of earlier pictures: MaxDpbMbs of level 5.1 (H.264 table A-1), 70 MB. It is 22 pictures of
    /// 1920 × 1088, of which H.264 allows 16, and so binds larger ones only.
    static let maxReferenceMacroblocks = 184_320

    /// Why no decoder is opened for it; nil: one may be.
    var refusal: String? {
        if !isPlain { return "the picture is not 8 bit 4:2:0, the only format that is decoded" }
        if pixels > Self.maxPixels { return "a picture of \(width)×\(height) is larger than is decoded" }
        if (pixels + 255) / 256 * referenceFrames > Self.maxReferenceMacroblocks {
            return "\(referenceFrames) reference frames of \(width)×\(height) are more than level 5.1 has"
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

    /// Of an H.264 sequence parameter set (H.264 §7.3.2.1.1), `unit` without a start code; nil where it cannot be read.
    init?(h264 data: [UInt8], _ unit: Range<Int>) {
        let payload = Self.withoutEmulationPrevention(data[unit.clamped(to: 0..<data.count)].dropFirst())
        var reader = BitReader(payload, 0..<payload.count)
        guard let profile = reader.bits(8), reader.bits(16) != nil, reader.unsigned() != nil else { return nil }
        isPlain = true
        if Self.profilesWithChroma.contains(profile) {
            guard let chroma = reader.unsigned() else { return nil }
            if chroma == 3, reader.bit() == nil { return nil }
            guard let luma = reader.unsigned(), let chromaDepth = reader.unsigned(), reader.bit() != nil,
                Self.skipScaling(&reader, lists: chroma == 3 ? 12 : 8)
            else { return nil }
            isPlain = chroma == 1 && luma == 0 && chromaDepth == 0
        }
        guard reader.unsigned() != nil, Self.skipOrder(&reader), let references = reader.unsigned(), reader.bit() != nil,
            let columns = reader.unsigned(), let rows = reader.unsigned(), let isProgressive = reader.bit()
        else { return nil }
        // Far above every level, and small enough that nothing below overflows.
        guard columns < 4096, rows < 4096, references <= 16 else { return nil }
        width = (columns + 1) * 16
        height = (rows + 1) * 16 * (isProgressive == 1 ? 1 : 2)
        referenceFrames = references
    }

    /// Those that tell chroma and bit depth (H.264 §7.3.2.1.1); in all others they are 4:2:0 and 8.
    private static let profilesWithChroma: Set<Int> = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]

    /// No more of a parameter set is looked at: all that is read lies in the first hundreds of bytes, whatever lists it has.
    private static let longestHeader = 4096

    /// H.264 §7.4.1.1.
    private static func withoutEmulationPrevention(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var zeros = 0
        for byte in bytes.prefix(longestHeader) {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            result.append(byte)
        }
        return result
    }

    /// Scaling matrices (H.264 §7.3.2.1.1.1).
    private static func skipScaling(_ reader: inout BitReader, lists: Int) -> Bool {
        guard let hasMatrix = reader.bit() else { return false }
        if hasMatrix == 0 { return true }
        for list in 0..<lists {
            guard let isPresent = reader.bit() else { return false }
            if isPresent == 0 { continue }
            var (last, next) = (8, 8)
            for _ in 0..<(list < 6 ? 16 : 64) {
                if next != 0 {
                    guard let delta = reader.signed() else { return false }
                    // The sum is taken modulo 256.
                    next = ((last + delta) % 256 + 256) % 256
                }
                last = next == 0 ? last : next
            }
        }
        return true
    }

    /// Picture order counts.
    private static func skipOrder(_ reader: inout BitReader) -> Bool {
        guard let type = reader.unsigned() else { return false }
        switch type {
        case 0: return reader.unsigned() != nil
        case 1:
            guard reader.bit() != nil, reader.signed() != nil, reader.signed() != nil, let count = reader.unsigned(), count <= 255
            else { return false }
            for _ in 0..<count where reader.signed() == nil { return false }
            return true
        case 2: return true
        default: return false
        }
    }
}
