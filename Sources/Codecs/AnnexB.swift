import Basics

/// H.264 byte streams (ITU-T H.264 Annex B).
package enum AnnexB {
    /// The type of a NAL unit that `H264.units` returned.
    package static func type(of unit: Range<Int>, in data: [UInt8]) -> UInt8 { data[unit.lowerBound] & 31 }

    /// The SPS and PPS units of an access unit, each with a 4-byte start code; empty unless both are present.
    package static func parameterSets(_ data: [UInt8]) -> [UInt8] {
        let units = H264.units(inAnnexB: data)
        let sets =
            units.filter { type(of: $0, in: data) == H264.UnitType.sps }
            + units.filter { type(of: $0, in: data) == H264.UnitType.pps }
        guard let first = sets.first, let last = sets.last, type(of: first, in: data) == H264.UnitType.sps,
            type(of: last, in: data) == H264.UnitType.pps
        else { return [] }
        return sets.reduce(into: []) { $0 += [0, 0, 0, 1] + data[$1] }
    }

    /// The same access unit with 4-byte start codes, without delimiters, SEI and filler data: x264 writes its settings
    /// as text into an SEI, which no receiver needs.
    static func normalized(_ data: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(data.count + 16)
        for unit in H264.units(inAnnexB: data)
        where ![H264.UnitType.sei, H264.UnitType.delimiter, H264.UnitType.filler].contains(type(of: unit, in: data)) {
            result += [0, 0, 0, 1]
            result += data[unit]
        }
        return result
    }
}
