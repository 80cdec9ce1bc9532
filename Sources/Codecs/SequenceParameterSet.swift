import Basics

/// The one bit of an H.264 sequence parameter set that x264 has no setting for.
///
/// H.264 has temporal layers by leaving frames out of the references (nal_ref_idc 0), which x264 does for B frames
/// only. Instead every second P frame is declared lost to the encoder right after it was made, so that no later one
/// refers to it; it still counts in frame_num. Whoever drops it leaves a gap there, which
/// gaps_in_frame_num_value_allowed_flag (H.264 §7.4.2.1.1) makes legal: the decoder puts a placeholder where the frame
/// was (§8.2.5.2) and goes on.
enum SequenceParameterSet {
    /// Sets the flag in every baseline SPS of an Annex B access unit.
    static func allowGaps(in data: inout [UInt8]) {
        for unit in H264.units(inAnnexB: data) where AnnexB.type(of: unit, in: data) == H264.UnitType.sps {
            guard let bit = gapsFlag(data, unit) else { continue }
            data[bit / 8] |= 0x80 >> UInt8(bit % 8)
        }
    }

    /// The flag's position in bits from the start of `data`; nil for a profile whose SPS is laid out otherwise, or a
    /// broken one.
    private static func gapsFlag(_ data: [UInt8], _ unit: Range<Int>) -> Int? {
        guard unit.count > 5, data[unit.lowerBound + 1] == 66 else { return nil }
        let first = unit.lowerBound + 4
        var reader = BitReader(data.span.extracting(first..<unit.upperBound))
        do throws(BitReader.Malformed) {
            _ = try reader.unsigned()  // seq_parameter_set_id
            _ = try reader.unsigned()  // log2_max_frame_num_minus4
            switch try reader.unsigned() {  // pic_order_cnt_type
            case 0: _ = try reader.unsigned()
            // It has a list that x264 never writes.
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
