import CFFmpeg
import Glibc

/// Turns a file of fragments, whole or cut off, into an ordinary MP4 with its index in front; nothing is coded again.
enum MP4Closing {
    /// Writes beside `output` under another name, brings it to the disk and renames it over `output` at the end.
    static func close(_ source: String, into output: String) throws(RecordingError) {
        // Needs once more the file's own size, as the source stays until the end.
        var status = statvfs()
        var file = stat()
        if stat(source, &file) == 0, statvfs(directory(of: output), &status) == 0,
            Double(status.f_bavail) * Double(status.f_frsize) < Double(file.st_size) * 1.05
        {
            throw .diskFull(path: output)
        }
        let temporary = output + closingSuffix
        do throws(RecordingError) {
            try copy(source, to: temporary)
            try secure(temporary)
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, output) == 0 else {
            let code = errno
            unlink(temporary)
            throw .notWritable(path: output, reason: String(cString: strerror(code)))
        }
        FileSink.secureDirectory(of: output)
    }

    /// What a file that is being closed is called meanwhile.
    static let closingSuffix = ".closing"

    private static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    private static func secure(_ path: String) throws(RecordingError) {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, path: path) }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system(errno, path: path) }
    }

    private static func copy(_ source: String, to target: String) throws(RecordingError) {
        let input = try MP4Input(path: source)
        var output: UnsafeMutablePointer<AVFormatContext>?
        avformat_alloc_output_context2(&output, nil, "mp4", target)
        guard let output else { throw .codec("the MP4 writer is not available") }
        defer {
            avio_closep(&output.pointee.pb)
            avformat_free_context(output)
        }
        for stream in input.streams {
            guard let copy = avformat_new_stream(output, nil),
                avcodec_parameters_copy(copy.pointee.codecpar, stream.pointee.codecpar) >= 0
            else { throw .codec("out of memory") }
            // Any other tag is chosen anew.
            if copy.pointee.codecpar.pointee.codec_tag != FragmentWriter.avc3 { copy.pointee.codecpar.pointee.codec_tag = 0 }
            copy.pointee.time_base = stream.pointee.time_base
        }
        try check(avio_open(&output.pointee.pb, target, AVIO_FLAG_WRITE), target)
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        av_dict_set(&options, "movflags", "faststart", 0)
        try check(avformat_write_header(output, &options), target)
        var count = 0
        while let packet = input.next() {
            guard let to = output.pointee.streams[Int(packet.pointee.stream_index)] else { continue }
            av_packet_rescale_ts(packet, input.streams[Int(packet.pointee.stream_index)].pointee.time_base, to.pointee.time_base)
            packet.pointee.pos = -1
            try check(av_interleaved_write_frame(output, packet), target)
            count += 1
        }
        guard count > 0 else { throw .nothingRecorded(path: source) }
        try check(av_write_trailer(output), target)
        try check(output.pointee.pb.pointee.error, target)
    }

    private static func check(_ code: Int32, _ path: String) throws(RecordingError) {
        if code < 0 { throw .system(cffmpeg_errno_from_error(code), path: path) }
    }
}

/// Reads the packets of a recording that may be cut off anywhere. Not Sendable: one owner.
final class MP4Input {
    let path: String
    private(set) var streams: [UnsafeMutablePointer<AVStream>] = []

    private let format: UnsafeMutablePointer<AVFormatContext>
    private var packet: UnsafeMutablePointer<AVPacket>?
    /// Each stream's last decoding time: whatever does not grow is left out.
    private var lastTimes: [Int64] = []

    init(path: String) throws(RecordingError) {
        self.path = path
        cffmpeg_silence()
        var format: UnsafeMutablePointer<AVFormatContext>?
        let result = avformat_open_input(&format, path, av_find_input_format("mp4"), nil)
        guard result >= 0, let format else {
            throw .unreadable(path: path, reason: Self.reason(result))
        }
        self.format = format
        packet = av_packet_alloc()
        let found = avformat_find_stream_info(format, nil)
        guard found >= 0, format.pointee.nb_streams > 0 else {
            throw .unreadable(path: path, reason: found < 0 ? Self.reason(found) : "no picture and no sound in it")
        }
        streams = (0..<Int(format.pointee.nb_streams)).compactMap { format.pointee.streams[$0] }
        lastTimes = streams.map { _ in .min }
    }

    deinit {
        av_packet_free(&packet)
        var format: UnsafeMutablePointer<AVFormatContext>? = format
        avformat_close_input(&format)
    }

    /// The next whole packet, valid until the next call; nil at the end or where the file is cut off.
    func next() -> UnsafeMutablePointer<AVPacket>? {
        guard let packet else { return nil }
        while true {
            av_packet_unref(packet)
            guard av_read_frame(format, packet) >= 0 else { return nil }
            let index = Int(packet.pointee.stream_index)
            guard packet.pointee.flags & AV_PKT_FLAG_CORRUPT == 0, packet.pointee.size > 0, streams.indices.contains(index),
                packet.pointee.dts != kAV_NOPTS_VALUE, packet.pointee.pts != kAV_NOPTS_VALUE,
                packet.pointee.dts > lastTimes[index]
            else { continue }
            lastTimes[index] = packet.pointee.dts
            return packet
        }
    }

    private static func reason(_ code: Int32) -> String {
        if code == kAVERROR_INVALIDDATA { return "it is not an MP4, or its beginning is missing" }
        return String(cString: strerror(cffmpeg_errno_from_error(code)))
    }
}
