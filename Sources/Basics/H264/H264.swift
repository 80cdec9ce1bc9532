/// The parts of H.264 that both the payload format and the codecs read: NAL unit types and byte streams (ITU-T H.264
/// §7.4.1, Annex B).
public enum H264 {
    /// The lower five bits of a NAL unit's first byte (ITU-T H.264 table 7-1).
    public enum UnitType {
        /// Types of NAL units (ITU-T H.264 §7.4.1, table 7-1).
        public static let slice: UInt8 = 1, idr: UInt8 = 5, sei: UInt8 = 6, sps: UInt8 = 7, pps: UInt8 = 8,
            delimiter: UInt8 = 9, filler: UInt8 = 12
    }

    /// The range of each NAL unit of an Annex B stream, without start codes (of three or four bytes) and trailing
    /// zeros. Any bytes give a list; none trap.
    public static func units(inAnnexB data: [UInt8]) -> [Range<Int>] {
        var units: [Range<Int>] = []
        data.withUnsafeBufferPointer { bytes in
            var start: Int?
            var index = 0
            while index + 2 < bytes.count {
                // A third byte above 1 is part of no start code: skip all three.
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
            if let start { append(start..<bytes.count) }

            func append(_ range: Range<Int>) {
                var end = range.upperBound
                while end > range.lowerBound, bytes[end - 1] == 0 { end -= 1 }
                if end > range.lowerBound { units.append(range.lowerBound..<end) }
            }
        }
        return units
    }
}
