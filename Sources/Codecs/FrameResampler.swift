import CFFmpeg

/// Converts a decoder's audio frames to mono at 48 kHz, also where their format changes in the middle of the stream.
struct FrameResampler {
    private var resampler: AudioResampler?
    private var shape: (format: Int32, rate: Int32, channels: Int32) = (-1, 0, 0)

    /// Appends the converted samples of a frame; the filter holds back a few.
    mutating func append(_ frame: consuming Frame, to samples: inout [Float]) throws(CodecError) {
        let value = frame.pointer
        let now = (value.pointee.format, value.pointee.sample_rate, value.pointee.ch_layout.nb_channels)
        if resampler == nil || now != shape {
            try resampler?.finish(into: &samples)
            resampler = try AudioResampler(
                layout: &value.pointee.ch_layout, format: AVSampleFormat(rawValue: value.pointee.format),
                inputRate: Int(value.pointee.sample_rate))
            shape = now
        }
        // Planar formats have one plane per channel, the others one plane for all channels.
        let planes = (0..<max(Int(value.pointee.ch_layout.nb_channels), 1)).map { index -> UnsafePointer<UInt8>? in
            let isPlanar = av_sample_fmt_is_planar(AVSampleFormat(rawValue: value.pointee.format)) != 0
            return isPlanar || index == 0 ? UnsafePointer(value.pointee.extended_data[index]) : nil
        }
        try resampler?.convert(planes, count: Int(value.pointee.nb_samples), into: &samples)
    }

    /// Appends the samples that the filter held back.
    mutating func finish(into samples: inout [Float]) throws(CodecError) { try resampler?.finish(into: &samples) }
}
