/// H.264 byte streams (ITU-T H.264 Annex B).
public enum AnnexB {
    /// NAL unit types that are looked at here (H.264 table 7-1).
    public enum UnitType {
        public static let slice: UInt8 = 1, idr: UInt8 = 5, sei: UInt8 = 6, sps: UInt8 = 7, pps: UInt8 = 8, delimiter: UInt8 = 9
    }

    /// Where each NAL unit lies, without start codes and trailing zeros. Total: any bytes give some list.
    public static func units(_ data: [UInt8]) -> [Range<Int>] {
        var units: [Range<Int>] = []
        data.withUnsafeBufferPointer { bytes in
            var start: Int?
            var index = 0
            while index + 2 < bytes.count {
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

    /// The type of a unit of `units`.
    public static func type(of unit: Range<Int>, in data: [UInt8]) -> UInt8 { data[unit.lowerBound] & 31 }

    /// The SPS and PPS units of an access unit, each with a 4-byte start code; empty when it has not both.
    public static func parameterSets(_ data: [UInt8]) -> [UInt8] {
        let units = units(data)
        let sets =
            units.filter { type(of: $0, in: data) == UnitType.sps } + units.filter { type(of: $0, in: data) == UnitType.pps }
        guard let first = sets.first, let last = sets.last, type(of: first, in: data) == UnitType.sps,
            type(of: last, in: data) == UnitType.pps
        else { return [] }
        return sets.reduce(into: []) { $0 += [0, 0, 0, 1] + data[$1] }
    }

    /// The same access unit with 4-byte start codes throughout, without delimiters, SEI and filler: x264 puts its
    /// settings as text into an SEI, which no receiver needs.
    static func normalized(_ data: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(data.count + 16)
        for unit in units(data) where ![6, 9, 12].contains(type(of: unit, in: data)) {
            result += [0, 0, 0, 1]
            result += data[unit]
        }
        return result
    }
}
