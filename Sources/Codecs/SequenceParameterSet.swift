import Basics

/// Sets the one bit of an H.264 sequence parameter set that x264 has no setting for.
///
/// H.264 forms temporal layers from frames that are no references (nal_ref_idc 0), which x264 makes of B frames only.
/// Here every second P frame is instead reported to the encoder as lost right after it was made, so that no later frame
/// refers to it; it still counts in frame_num. A sender that drops it leaves a gap in frame_num, which
/// gaps_in_frame_num_value_allowed_flag (H.264 §7.4.2.1.1) permits: the decoder inserts a placeholder (§8.2.5.2) and
/// goes on.
enum SequenceParameterSet {
    /// Sets the flag in every baseline SPS of an Annex B access unit.
    static func allowGaps(in data: inout [UInt8]) {
        for unit in H264.units(inAnnexB: data) where AnnexB.type(of: unit, in: data) == H264.UnitType.sps {
            guard let bit = gapsFlag(data, unit) else { continue }
            data[bit / 8] |= 0x80 >> UInt8(bit % 8)
        }
    }

    /// The flag's position in bits from the start of `data`; nil for a profile with another SPS syntax, and for a
    /// malformed SPS.
    private static func gapsFlag(_ data: [UInt8], _ unit: Range<Int>) -> Int? {
        guard unit.count > 5, data[unit.lowerBound + 1] == 66 else { return nil }
        let first = unit.lowerBound + 4
        var reader = BitReader(data.span.extracting(first..<unit.upperBound))
        do throws(BitReader.Malformed) {
            _ = try reader.unsigned()  // seq_parameter_set_id
            _ = try reader.unsigned()  // log2_max_frame_num_minus4
            switch try reader.unsigned() {  // pic_order_cnt_type
            case 0: _ = try reader.unsigned()
            // Type 1 has a list, which x264 never writes.
            case 1: return nil
            default: break
            }
            _ = try reader.unsigned()  // max_num_ref_frames
        } catch {
            return nil
        }
        let position = first * 8 + reader.position
        return position < unit.upperBound * 8 ? position : nil
    }
}
