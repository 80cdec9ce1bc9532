import CFFmpeg
import Glibc

/// Turns a file of fragments, whole or cut off, into an ordinary MP4; nothing is coded again.
///
/// Small files are copied, which puts their index in front: they play while they are fetched. Large ones, and those for
/// whose copy there is no room, are closed where they lie.
enum MP4Closing {
    /// Above so many bytes a copy takes too much of the disk's time and space: some minutes of a call.
    static let copyLimit = 64 << 20

    /// `reserve`: what the copy must leave free.
    static func close(
        _ path: String, reserve: DiskReserve? = nil, copyLimit: Int = copyLimit
    ) throws(RecordingError) -> RecordingReport {
        if let size = size(of: path), size <= copyLimit, hasRoom(for: size, at: path, reserve) {
            do throws(RecordingError) {
                try copy(path, into: path)
                return try RecordingRepair.check(file: path)
            } catch .diskFull {
                // Others took the room meanwhile.
            }
        }
        do throws(RecordingError) {
            return try InPlaceClosing.close(path)
        } catch .unreadable {
            // Not as this version writes them.
            try copy(path, into: path)
            return try RecordingRepair.check(file: path)
        }
    }

    /// Copies `source` to another name beside `output`, brings that to the disk and renames it over `output` at the
    /// end.
    static func copy(_ source: String, into output: String) throws(RecordingError) {
        // Needs once more the file's own size, as the source stays until the end.
        if let size = size(of: source), !hasRoom(for: size, at: output, nil) { throw .diskFull(path: output) }
        // Whoever writes it goes on; it is closed by them.
        let held = open(source, O_RDONLY | O_CLOEXEC)
        guard held >= 0 else { throw .unreadable(path: source, reason: String(cString: strerror(errno))) }
        defer { Glibc.close(held) }
        guard SystemFile.lock(held) else { throw .inUse(path: source) }
        let temporary = output + closingSuffix
        do throws(RecordingError) {
            unlink(temporary)
            Glibc.close(try FileSink.make(temporary))
            try copyPackets(source, to: temporary)
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

    private static func size(of path: String) -> Int? {
        var file = stat()
        return stat(path, &file) == 0 ? Int(file.st_size) : nil
    }

    /// A copy is a little larger than the fragments, or smaller.
    private static func hasRoom(for size: Int, at output: String, _ reserve: DiskReserve?) -> Bool {
        let bytes = size + size / 20
        if let reserve { return reserve.hasRoom(for: bytes) }
        return RecordingDisk.systemSpace(FileSink.directory(of: output)).map { $0.free >= bytes } ?? true
    }

    /// What a file that is being closed is called meanwhile.
    static let closingSuffix = ".closing"

    private static func secure(_ path: String) throws(RecordingError) {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, path: path) }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system(errno, path: path) }
    }

    private static func copyPackets(_ source: String, to target: String) throws(RecordingError) {
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
            if copy.pointee.codecpar.pointee.codec_tag != FragmentWriter.avc3 {
                copy.pointee.codecpar.pointee.codec_tag = 0
            }
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
            av_packet_rescale_ts(
                packet, input.streams[Int(packet.pointee.stream_index)].pointee.time_base, to.pointee.time_base)
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
