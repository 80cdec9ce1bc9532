import CFFmpeg

/// Converts audio of any rate and up to 16 channels to mono at 48 kHz (or another rate). Not Sendable: one owner.
package final class AudioResampler {
    private let context: OpaquePointer
    private let inputChannels: Int
    private let outputRate: Int64
    private let inputRate: Int64

    /// A resampler for interleaved floats (±1). Channels are mixed down by FFmpeg's default layout for their number (1
    /// is mono, 2 stereo, 6 is 5.1 …).
    package convenience init(inputRate: Int, inputChannels: Int, outputRate: Int = 48_000) throws(CodecError) {
        guard (1...16).contains(inputChannels) else { throw .unsupportedInput("audio with \(inputChannels) channels") }
        var layout = AVChannelLayout()
        av_channel_layout_default(&layout, Int32(inputChannels))
        defer { av_channel_layout_uninit(&layout) }
        try self.init(layout: &layout, format: AV_SAMPLE_FMT_FLT, inputRate: inputRate, outputRate: outputRate)
    }

    /// A resampler for the frames of an FFmpeg decoder.
    init(
        layout: inout AVChannelLayout, format: AVSampleFormat, inputRate: Int, outputRate: Int = 48_000
    ) throws(CodecError) {
        guard (1000...768_000).contains(inputRate), (1000...768_000).contains(outputRate) else {
            throw .unsupportedInput("audio at \(inputRate) Hz")
        }
        var mono = AVChannelLayout()
        cffmpeg_set_mono(&mono)
        var context: OpaquePointer?
        let result = swr_alloc_set_opts2(
            &context, &mono, AV_SAMPLE_FMT_FLT, Int32(outputRate), &layout, format, Int32(inputRate), 0, nil)
        // Without this limit floats are mixed down at full volume, and 5.1 would be three times too loud.
        if let context { av_opt_set_double(UnsafeMutableRawPointer(context), "rematrix_maxval", 1, 0) }
        let opened = result < 0 ? result : swr_init(context)
        guard opened >= 0, let ready = context else {
            swr_free(&context)
            throw .failed(operation: "resampler", reason: FFmpeg.reason(opened))
        }
        self.context = ready
        inputChannels = Int(layout.nb_channels)
        self.inputRate = Int64(inputRate)
        self.outputRate = Int64(outputRate)
    }

    deinit {
        var context: OpaquePointer? = context
        swr_free(&context)
    }

    /// Appends the converted samples; the filter holds back a few.
    package func resample(_ samples: [Float], into output: inout [Float]) throws(CodecError) {
        let count = samples.count / inputChannels
        try samples.withUnsafeBufferPointer { (buffer) throws(CodecError) in
            let bytes = UnsafeRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: UInt8.self)
            try convert([bytes], count: count, into: &output)
        }
    }

    /// Appends the samples that the filter held back.
    package func finish(into output: inout [Float]) throws(CodecError) {
        try convert(nil, count: 0, into: &output)
    }

    func convert(_ planes: [UnsafePointer<UInt8>?]?, count: Int, into output: inout [Float]) throws(CodecError) {
        let held = swr_get_delay(context, inputRate)
        let room = Int((held + Int64(count)) * outputRate / inputRate) + 32
        let start = output.count
        output.append(contentsOf: repeatElement(0, count: room))
        var planes = planes
        let made = output.withUnsafeMutableBytes { bytes -> Int32 in
            let base = bytes.baseAddress?.advanced(by: start * MemoryLayout<Float>.stride)
            var destination: [UnsafeMutablePointer<UInt8>?] = [base?.assumingMemoryBound(to: UInt8.self)]
            guard planes != nil else { return swr_convert(context, &destination, Int32(room), nil, 0) }
            return planes?.withUnsafeMutableBufferPointer {
                swr_convert(context, &destination, Int32(room), $0.baseAddress, Int32(count))
            } ?? 0
        }
        output.removeLast(room - Int(max(made, 0)))
        try FFmpeg.check(made, "resampler")
    }
}
