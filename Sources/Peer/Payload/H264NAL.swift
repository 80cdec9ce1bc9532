/// The parts of H.264 that the payload format touches: NAL types and Annex B (ITU-T H.264 §7.4.1, Annex B).
public enum H264NAL {
    static let slice: UInt8 = 1
    static let idr: UInt8 = 5
    static let sps: UInt8 = 7
    static let pps: UInt8 = 8
    static let accessUnitDelimiter: UInt8 = 9
    static let filler: UInt8 = 12
    static let stapA: UInt8 = 24
    static let fuA: UInt8 = 28

    /// Every NAL unit of an Annex B stream, without start codes and trailing zeros; three- and four-byte start codes.
    public static func units(inAnnexB bytes: [UInt8]) -> [Range<Int>] {
        var result: [Range<Int>] = []
        bytes.withUnsafeBufferPointer { bytes in
            var start: Int?
            var index = 0
            let count = bytes.count
            while index + 2 < count {
                // The third byte decides how far one can step.
                if bytes[index + 2] > 1 {
                    index += 3
                } else if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 {
                    if let start { append(start..<index) }
                    start = index + 3
                    index += 3
                } else {
                    index += 1
                }
            }
            if let start { append(start..<count) }

            func append(_ range: Range<Int>) {
                var end = range.upperBound
                while end > range.lowerBound, bytes[end - 1] == 0 { end -= 1 }
                if end > range.lowerBound { result.append(range.lowerBound..<end) }
            }
        }
        return result
    }

    /// The size of the pictures that a sequence parameter set describes (ITU-T H.264 §7.3.2.1.1), cropped; nil when it is broken
    /// or larger than 16384 on a side. `nal` starts with the NAL header byte.
    public static func pictureSize(ofSPS nal: Span<UInt8>) -> (width: Int, height: Int)? {
        guard nal.count >= 4, nal[0] & 31 == sps else { return nil }
        // Emulation prevention: 00 00 03 → 00 00. Only the head matters, VUI does not.
        var payload: [UInt8] = []
        var zeros = 0
        for index in 1..<min(nal.count, 256) {
            let byte = nal[index]
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            payload.append(byte)
        }
        var reader = BitReader(payload.span)
        return try? size(&reader)
    }

    private static func size(_ reader: inout BitReader) throws(BitReader.Malformed) -> (width: Int, height: Int) {
        let profile = try reader.bits(8)
        try reader.skip(16)  // constraints, level
        _ = try reader.unsigned()  // seq_parameter_set_id
        var chroma: UInt32 = 1
        var separatePlanes = false
        if [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].contains(profile) {
            chroma = try reader.unsigned()
            guard chroma <= 3 else { throw BitReader.Malformed() }
            if chroma == 3 { separatePlanes = try reader.bit() == 1 }
            _ = try reader.unsigned()  // bit depth, luma
            _ = try reader.unsigned()  // bit depth, chroma
            try reader.skip(1)
            if try reader.bit() == 1 {
                for list in 0..<(chroma == 3 ? 12 : 8) where try reader.bit() == 1 {
                    try skipScalingList(&reader, count: list < 6 ? 16 : 64)
                }
            }
        }
        _ = try reader.unsigned()  // log2_max_frame_num_minus4
        switch try reader.unsigned() {  // pic_order_cnt_type
        case 0:
            _ = try reader.unsigned()
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
        _ = try reader.unsigned()  // max_num_ref_frames
        try reader.skip(1)
        let widthInMacroblocks = Int(try reader.unsigned()) + 1
        let heightInUnits = Int(try reader.unsigned()) + 1
        let framesOnly = Int(try reader.bit())
        if framesOnly == 0 { try reader.skip(1) }
        try reader.skip(1)
        guard widthInMacroblocks <= 1024, heightInUnits <= 1024 else { throw BitReader.Malformed() }
        var width = widthInMacroblocks * 16
        var height = heightInUnits * 16 * (2 - framesOnly)
        if try reader.bit() == 1 {
            let subsampledX = chroma == 1 || chroma == 2
            let subsampledY = chroma == 1
            let unitX = subsampledX && !separatePlanes ? 2 : 1
            let unitY = (subsampledY && !separatePlanes ? 2 : 1) * (2 - framesOnly)
            let left = Int(try reader.unsigned())
            let right = Int(try reader.unsigned())
            let top = Int(try reader.unsigned())
            let bottom = Int(try reader.unsigned())
            width -= (left + right) * unitX
            height -= (top + bottom) * unitY
        }
        guard width > 0, height > 0 else { throw BitReader.Malformed() }
        return (width, height)
    }

    private static func skipScalingList(_ reader: inout BitReader, count: Int) throws(BitReader.Malformed) {
        var last: Int32 = 8
        var next: Int32 = 8
        for _ in 0..<count {
            if next != 0 { next = (last &+ (try reader.signed()) &+ 256) & 255 }
            if next != 0 { last = next }
        }
    }
}
