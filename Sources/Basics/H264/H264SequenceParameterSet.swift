/// The picture format in a sequence parameter set (ITU-T H.264 §7.3.2.1.1). Any bytes can be given; `init` returns nil
/// where they cannot be parsed.
public struct H264SequenceParameterSet: Hashable, Sendable {
    /// In pixels: whole macroblocks, before cropping; at most 65,536.
    public let codedWidth: Int
    /// The same for the height.
    public let codedHeight: Int
    /// The size after cropping; nil where the cropping cannot be parsed or leaves no pixel.
    public let shownSize: Size?
    /// max_num_ref_frames, 0…16: the pictures that a decoder keeps for reference.
    public let referenceFrames: Int
    /// Whether samples have 8 bits and chroma is 4:2:0.
    public let isPlain: Bool

    /// Width and height in pixels.
    public struct Size: Hashable, Sendable {
        /// In pixels.
        public var width: Int
        /// In pixels.
        public var height: Int
    }

    /// Profiles whose sets carry chroma format and bit depth; in all others these are 4:2:0 and 8.
    private static let profilesWithChroma: Set<UInt32> = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]
    /// Bytes of a unit that are parsed at most: every field that is read lies in the first few hundred bytes, even with
    /// scaling lists.
    private static let longestHeader = 4096

    /// - Parameter unit: the NAL unit from its first byte on, without a start code.
    public init?(_ unit: Span<UInt8>) {
        guard unit.count >= 4, unit[0] & 31 == H264.UnitType.sps else { return nil }
        let payload = Self.withoutEmulationPrevention(unit)
        var reader = BitReader(payload.span)
        guard let set = try? Self(&reader) else { return nil }
        self = set
    }

    private init(_ reader: inout BitReader) throws(BitReader.Malformed) {
        let profile = try reader.bits(8)
        try reader.skip(16)  // constraint flags, level_idc
        _ = try reader.unsigned()  // seq_parameter_set_id
        var chroma: UInt32 = 1
        var hasSeparatePlanes = false
        var (lumaDepth, chromaDepth): (UInt32, UInt32) = (0, 0)
        if Self.profilesWithChroma.contains(profile) {
            chroma = try reader.unsigned()
            guard chroma <= 3 else { throw BitReader.Malformed() }
            if chroma == 3 { hasSeparatePlanes = try reader.bit() == 1 }
            lumaDepth = try reader.unsigned()
            chromaDepth = try reader.unsigned()
            try reader.skip(1)  // qpprime_y_zero_transform_bypass_flag
            if try reader.bit() == 1 { try Self.skipScalingLists(&reader, count: chroma == 3 ? 12 : 8) }
        }
        isPlain = chroma == 1 && lumaDepth == 0 && chromaDepth == 0
        _ = try reader.unsigned()  // log2_max_frame_num_minus4
        try Self.skipOrder(&reader)
        let references = try reader.unsigned()
        try reader.skip(1)  // gaps_in_frame_num_value_allowed_flag
        let columns = try reader.unsigned()
        let rows = try reader.unsigned()
        let isProgressive = try reader.bit() == 1
        // These limits are far above every level, and small enough that nothing below overflows.
        guard columns < 4096, rows < 4096, references <= 16 else { throw BitReader.Malformed() }
        referenceFrames = Int(references)
        codedWidth = (Int(columns) + 1) * 16
        codedHeight = (Int(rows) + 1) * 16 * (isProgressive ? 1 : 2)
        let unit = Size(
            width: !hasSeparatePlanes && (chroma == 1 || chroma == 2) ? 2 : 1,
            height: (!hasSeparatePlanes && chroma == 1 ? 2 : 1) * (isProgressive ? 1 : 2))
        shownSize = try? Self.crop(
            &reader, Size(width: codedWidth, height: codedHeight), unit, isProgressive: isProgressive)
    }

    private static func crop(
        _ reader: inout BitReader, _ coded: Size, _ unit: Size, isProgressive: Bool
    ) throws(BitReader.Malformed) -> Size {
        if !isProgressive { try reader.skip(1) }  // mb_adaptive_frame_field_flag
        try reader.skip(1)  // direct_8x8_inference_flag
        var size = coded
        if try reader.bit() == 1 {
            let columns = Int(try reader.unsigned()) + Int(try reader.unsigned())
            let rows = Int(try reader.unsigned()) + Int(try reader.unsigned())
            size.width -= columns * unit.width
            size.height -= rows * unit.height
        }
        guard size.width > 0, size.height > 0 else { throw BitReader.Malformed() }
        return size
    }

    /// The payload behind the NAL unit's first byte, each 00 00 03 replaced by 00 00 (ITU-T H.264 §7.4.1.1).
    private static func withoutEmulationPrevention(_ unit: Span<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var zeros = 0
        for index in 1..<min(unit.count, longestHeader) {
            let byte = unit[index]
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            result.append(byte)
        }
        return result
    }

    /// Skips the scaling lists (ITU-T H.264 §7.3.2.1.1.1).
    private static func skipScalingLists(_ reader: inout BitReader, count: Int) throws(BitReader.Malformed) {
        for list in 0..<count where try reader.bit() == 1 {
            var (last, next): (Int32, Int32) = (8, 8)
            for _ in 0..<(list < 6 ? 16 : 64) {
                // The sum is taken modulo 256.
                if next != 0 { next = (last &+ (try reader.signed()) &+ 256) & 255 }
                if next != 0 { last = next }
            }
        }
    }

    /// Skips the fields of the picture order count.
    private static func skipOrder(_ reader: inout BitReader) throws(BitReader.Malformed) {
        switch try reader.unsigned() {
        case 0: _ = try reader.unsigned()
        case 1:
            try reader.skip(1)
            _ = try reader.signed()
            _ = try reader.signed()
            let cycle = try reader.unsigned()
            guard cycle <= 255 else { throw BitReader.Malformed() }
            for _ in 0..<cycle { _ = try reader.signed() }
        case 2: break
        default: throw BitReader.Malformed()
        }
    }
}
