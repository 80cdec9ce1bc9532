package import Basics
import CFFmpeg
import Glibc

/// Decodes the video of a demuxer: any codec of `InputCodecs.video`. One thread uses it.
package final class InputVideoDecoder {
    package let rotation: Rotation
    private let decoder: StreamDecoder
    private let timeBase: AVRational
    private var converter = PixelConverter()

    init(_ stream: UnsafeMutablePointer<AVStream>, maxPixels: Int) throws(CodecError) {
        try InputCodecs.check(stream.pointee.codecpar.pointee.codec_id, .video)
        decoder = try StreamDecoder(stream, maxPixels: maxPixels, whitelist: InputCodecs.whitelist)
        timeBase = stream.pointee.time_base
        rotation = Self.rotation(of: stream)
    }

    /// The size of the pictures as far as it is known; zero before the first.
    package var size: (width: Int, height: Int) {
        (Int(decoder.context.pointee.coded_width), Int(decoder.context.pointee.coded_height))
    }

    /// Decodes a packet, or what is left at the end of the stream (nil), and hands over each picture with the time at
    /// which it is to be shown.
    package func decode(
        _ packet: DemuxedPacket?, _ deliver: (Picture, Duration?) -> Void
    ) throws(CodecError) {
        try decoder.decode(packet?.pointer) { (frame: consuming Frame) throws(CodecError) in
            let time = mediaTime(frame.pointer.pointee.best_effort_timestamp, timeBase)
            deliver(try converter.picture(from: frame), time)
        }
    }

    package func flush() { decoder.flush() }

    /// The rotation in the header of the stream, as phones write it.
    private static func rotation(of stream: UnsafeMutablePointer<AVStream>) -> Rotation {
        var size = 0
        guard let data = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size), size >= 36 else {
            return .none
        }
        let counterClockwise = data.withMemoryRebound(to: Int32.self, capacity: 9) { av_display_rotation_get($0) }
        guard counterClockwise.isFinite else { return .none }
        let turns = Int((-counterClockwise / 90).rounded()) & 3
        return Rotation(rawValue: UInt8(turns)) ?? .none
    }
}

/// Decodes the audio of a demuxer, any codec of `InputCodecs.audio`, to mono at 48 kHz. One thread uses it.
package final class InputAudioDecoder {
    private let decoder: StreamDecoder
    private let timeBase: AVRational
    private var resampler = FrameResampler()

    init(_ stream: UnsafeMutablePointer<AVStream>) throws(CodecError) {
        try InputCodecs.check(stream.pointee.codecpar.pointee.codec_id, .audio)
        decoder = try StreamDecoder(stream, whitelist: InputCodecs.whitelist)
        timeBase = stream.pointee.time_base
    }

    /// Appends the samples of a packet, or those that are left at the end of the stream (nil). Returns the time of the
    /// first of them; nil: it has none.
    package func decode(_ packet: DemuxedPacket?, into samples: inout [Float]) throws(CodecError) -> Duration? {
        var first: Duration?
        try decoder.decode(packet?.pointer) { (frame: consuming Frame) throws(CodecError) in
            if first == nil { first = mediaTime(frame.pointer.pointee.best_effort_timestamp, timeBase) }
            try resampler.append(frame, to: &samples)
        }
        return first
    }

    package func flush() {
        decoder.flush()
        resampler = FrameResampler()
    }
}
