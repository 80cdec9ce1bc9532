package import CFFmpeg
import Glibc

/// What takes the bytes of a muxer.
package protocol MuxerSink: AnyObject {
    /// Writes all bytes; false: they are lost.
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool
    /// Lets the next bytes replace those from `offset` on.
    func seek(to offset: Int) -> Bool
}

/// The owner of a muxer of libavformat: of its context, of the packet that carries each block to it, and of what stands
/// between it and a sink.
///
/// Not Sendable: one thread or queue owns it.
package final class MuxerOutput {
    package let format: UnsafeMutablePointer<AVFormatContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    /// The rates in which the streams' times are given, in ticks a second.
    private var rates: [Int32] = []
    private var sink: (any MuxerSink)?
    /// Of `sink`.
    private var io: UnsafeMutablePointer<AVIOContext>?

    /// - Parameters:
    ///   - muxer: its name in libavformat.
    ///   - path: of the file; nil where the muxer does not need to know.
    package init(_ muxer: String, path: String? = nil) throws(CodecError) {
        _ = FFmpeg.silenced
        var format: UnsafeMutablePointer<AVFormatContext>?
        avformat_alloc_output_context2(&format, nil, muxer, path)
        guard let format else { throw .unavailable("the writer of \(muxer)") }
        guard let packet = av_packet_alloc() else {
            avformat_free_context(format)
            throw Self.noMemory
        }
        (self.format, self.packet) = (format, packet)
    }

    deinit {
        if let io {
            av_free(io.pointee.buffer)
            var context: UnsafeMutablePointer<AVIOContext>? = io
            avio_context_free(&context)
        }
        // Any other output is its owner's.
        format.pointee.pb = nil
        avformat_free_context(format)
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }

    /// Lets the muxer write to `sink`, in blocks of up to `buffer` bytes.
    package func write(to sink: any MuxerSink, buffer size: Int32, seeks: Bool) throws(CodecError) {
        guard let buffer = av_malloc(Int(size)) else { throw Self.noMemory }
        let owner = Unmanaged.passUnretained(self).toOpaque()
        let io = avio_alloc_context(
            buffer.assumingMemoryBound(to: UInt8.self), size, 1, owner, nil, writeToSink, seeks ? seekInSink : nil)
        guard let io else {
            av_free(buffer)
            throw Self.noMemory
        }
        (self.sink, self.io) = (sink, io)
        format.pointee.pb = io
        format.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    }

    /// Adds a stream.
    ///
    /// - Parameters:
    ///   - rate: of the times that `fill` gets, in ticks a second.
    ///   - description: what decoders get before the first block: SPS and PPS, OpusHead or AudioSpecificConfig.
    ///   - complete: sets what else is known of the stream.
    package func addStream(
        _ type: AVMediaType, _ codec: AVCodecID, rate: Int32, description: [UInt8],
        _ complete: (inout AVCodecParameters) -> Void
    ) throws(CodecError) {
        guard let stream = avformat_new_stream(format, nil), let parameters = stream.pointee.codecpar else {
            throw Self.noMemory
        }
        rates.append(rate)
        stream.pointee.time_base = AVRational(num: 1, den: rate)
        parameters.pointee.codec_type = type
        parameters.pointee.codec_id = codec
        complete(&parameters.pointee)
        guard !description.isEmpty else { return }
        guard let memory = av_mallocz(description.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else {
            throw Self.noMemory
        }
        memory.copyMemory(from: description, byteCount: description.count)
        parameters.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        parameters.pointee.extradata_size = Int32(description.count)
    }

    /// Writes the header. Returns the library's code.
    package func begin(_ options: [String: String] = [:]) -> Int32 {
        var list: OpaquePointer?
        defer { av_dict_free(&list) }
        for (key, value) in options { av_dict_set(&list, key, value, 0) }
        return avformat_write_header(format, &list)
    }

    /// The packet of this output, with a block of a stream in it, and with its times in the muxer's unit.
    ///
    /// - Parameters:
    ///   - time: in ticks of the stream's rate, as is `duration`.
    package func fill(
        _ data: [UInt8], stream index: Int, time: Int64, duration: Int64 = 0, isKeyframe: Bool
    ) throws(CodecError) -> UnsafeMutablePointer<AVPacket> {
        av_packet_unref(packet)
        guard let count = Int32(exactly: data.count), av_new_packet(packet, count) >= 0,
            let stream = format.pointee.streams[index]
        else { throw Self.noMemory }
        data.withUnsafeBufferPointer { source in
            if let base = source.baseAddress { packet.pointee.data.update(from: base, count: source.count) }
        }
        packet.pointee.stream_index = Int32(index)
        packet.pointee.pts = time
        packet.pointee.dts = time
        packet.pointee.duration = duration
        packet.pointee.flags = isKeyframe ? AV_PKT_FLAG_KEY : 0
        av_packet_rescale_ts(packet, AVRational(num: 1, den: rates[index]), stream.pointee.time_base)
        return packet
    }

    private static let noMemory = CodecError.failed(operation: "muxer", reason: "out of memory")

    fileprivate func write(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        sink?.write(bytes) == true ? Int32(bytes.count) : cffmpeg_error_from_errno(EIO)
    }

    fileprivate func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
        guard whence == SEEK_SET else { return Int64(cffmpeg_error_from_errno(EINVAL)) }
        return sink?.seek(to: Int(offset)) == true ? offset : Int64(cffmpeg_error_from_errno(EIO))
    }
}

private nonisolated func writeToSink(
    _ opaque: UnsafeMutableRawPointer?, _ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int32
) -> Int32 {
    guard let opaque, let bytes else { return cffmpeg_error_from_errno(EINVAL) }
    return Unmanaged<MuxerOutput>.fromOpaque(opaque).takeUnretainedValue().write(
        UnsafeRawBufferPointer(start: bytes, count: Int(count)))
}

private nonisolated func seekInSink(_ opaque: UnsafeMutableRawPointer?, _ offset: Int64, _ whence: Int32) -> Int64 {
    guard let opaque else { return Int64(cffmpeg_error_from_errno(EINVAL)) }
    return Unmanaged<MuxerOutput>.fromOpaque(opaque).takeUnretainedValue().seek(offset, whence)
}
