import Basics
import Codecs

/// What a decoder has to know of an H.264 stream before its first picture: the parameter sets of a keyframe.
struct H264Description: Hashable, Sendable {
    let sequenceSets: [[UInt8]]
    let pictureSets: [[UInt8]]
    let width: Int
    let height: Int

    /// nil where the access unit (Annex B) has no parameter sets, or no valid ones.
    init?(keyframe data: [UInt8]) {
        let units = H264.units(inAnnexB: data)
        func sets(_ type: UInt8) -> [[UInt8]] {
            units.filter { AnnexB.type(of: $0, in: data) == type && $0.count <= Int(UInt16.max) }.prefix(31)
                .map { Array(data[$0]) }
        }
        (sequenceSets, pictureSets) = (sets(H264.UnitType.sps), sets(H264.UnitType.pps))
        guard let first = sequenceSets.first, first.count >= 4, !pictureSets.isEmpty,
            let size = H264SequenceParameterSet(first.span)?.shownSize
        else { return nil }
        (width, height) = (size.width, size.height)
    }

    /// The codec's name in playlists and `MediaSource` (RFC 6381 §3.3): profile, constraints and level.
    var codec: String { "avc1." + Hexadecimal.encode(sequenceSets[0][1...3]) }

    /// AVCDecoderConfigurationRecord (ISO/IEC 14496-15 §5.3.3.1) with lengths of four bytes.
    var record: [UInt8] {
        let first = sequenceSets[0]
        var record: [UInt8] = [1, first[1], first[2], first[3], 0xFF, 0xE0 | UInt8(clamping: sequenceSets.count)]
        for set in sequenceSets {
            record.append16(UInt16(clamping: set.count))
            record += set
        }
        record.append(UInt8(clamping: pictureSets.count))
        for set in pictureSets {
            record.append16(UInt16(clamping: set.count))
            record += set
        }
        // The profiles above Extended say chroma and depth too: 4:2:0, 8 bits, no SPS extensions.
        if ![66, 77, 88].contains(first[1]) { record += [0xFC | 1, 0xF8, 0xF8, 0] }
        return record
    }

    /// The access unit with lengths instead of start codes (ISO/IEC 14496-15 §5.3.2), without what the record has.
    static func sample(_ data: [UInt8]) -> [UInt8] {
        var sample: [UInt8] = []
        sample.reserveCapacity(data.count)
        let left: Set = [H264.UnitType.sps, H264.UnitType.pps, H264.UnitType.delimiter, H264.UnitType.filler]
        for unit in H264.units(inAnnexB: data) where !left.contains(AnnexB.type(of: unit, in: data)) {
            sample.append32(UInt32(clamping: unit.count))
            sample += data[unit]
        }
        return sample
    }
}
