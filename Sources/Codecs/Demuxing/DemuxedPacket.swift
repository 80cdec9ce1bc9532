import CFFmpeg

/// A coded packet of a demuxer.
///
/// `@unchecked Sendable`: one thread at a time has it. The thread that reads hands it to the one that decodes.
package final class DemuxedPacket: @unchecked Sendable {
    package enum Kind: Sendable { case video, audio }

    package let kind: Kind
    let pointer: UnsafeMutablePointer<AVPacket>
    private let timeBase: AVRational

    /// Takes over the contents of `packet`, which is empty then.
    init(_ kind: Kind, movingFrom packet: borrowing Packet, timeBase: AVRational) throws(CodecError) {
        self.kind = kind
        self.timeBase = timeBase
        pointer = try FFmpeg.allocated(av_packet_alloc(), "packet")
        av_packet_move_ref(pointer, packet.pointer)
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVPacket>? = pointer
        av_packet_free(&pointer)
    }

    package var byteCount: Int { Int(pointer.pointee.size) }
    package var isKeyframe: Bool { pointer.pointee.flags & AV_PKT_FLAG_KEY != 0 }
    package var duration: Duration { mediaTime(max(0, pointer.pointee.duration), timeBase) ?? .zero }

    /// When it is to be decoded, on the source's clock; nil: it has no time.
    package var time: Duration? {
        mediaTime(pointer.pointee.dts == kAV_NOPTS_VALUE ? pointer.pointee.pts : pointer.pointee.dts, timeBase)
    }

    /// Moves its times.
    package func shift(by time: Duration) {
        let ticks = av_rescale_q(time.nanosecondsClamped, AVRational(num: 1, den: 1_000_000_000), timeBase)
        if pointer.pointee.pts != kAV_NOPTS_VALUE { pointer.pointee.pts &+= ticks }
        if pointer.pointee.dts != kAV_NOPTS_VALUE { pointer.pointee.dts &+= ticks }
    }

    /// Sets the times of a packet that has none.
    package func setTime(_ time: Duration) {
        let ticks = av_rescale_q(time.nanosecondsClamped, AVRational(num: 1, den: 1_000_000_000), timeBase)
        (pointer.pointee.pts, pointer.pointee.dts) = (ticks, ticks)
    }
}

/// Converts a stream's time stamp; nil where there is none, or where it is beyond every clock (292 years).
func mediaTime(_ ticks: Int64, _ base: AVRational) -> Duration? {
    guard ticks != kAV_NOPTS_VALUE, base.num > 0, base.den > 0 else { return nil }
    let nanoseconds = av_rescale_q(ticks, base, AVRational(num: 1, den: 1_000_000_000))
    // The sum of a few such times must not overflow.
    return nanoseconds.magnitude < 1 << 60 ? .nanoseconds(nanoseconds) : nil
}

extension Duration {
    fileprivate var nanosecondsClamped: Int64 {
        let (seconds, attoseconds) = components
        return Int64(clamping: seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
    }
}
