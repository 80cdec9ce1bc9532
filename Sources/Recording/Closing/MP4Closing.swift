import CFFmpeg
import Glibc

/// Converts a fragmented file, complete or cut off, to an ordinary MP4 without encoding again.
///
/// Small files are copied, which puts the index in front, so that they play while they are downloaded. Large files, and
/// those for whose copy there is no space, are closed in place.
enum MP4Closing {
    /// The largest file that is copied, some minutes of a call: a copy of a larger one takes too much time and space.
    static let copyLimit = 64 << 20

    /// Closes the file at `path`. `reserve` is the space that the copy must leave free; chapters after the file's end
    /// are left out.
    static func close(
        _ path: String, reserve: DiskReserve? = nil, chapters: [RecordingChapter] = [], copyLimit: Int = copyLimit
    ) throws(RecordingError) -> RecordingReport {
        if let size = size(of: path), size <= copyLimit, hasRoom(for: size, at: path, reserve) {
            do throws(RecordingError) {
                try copy(path, into: path, chapters)
                return try RecordingRepair.check(file: path)
            } catch .diskFull {
                // Others took the space in the meantime, so the file is closed in place.
            }
        }
        do throws(RecordingError) {
            return try InPlaceClosing.close(path, chapters: chapters)
        } catch .unreadable {
            // The fragments are not those of this version, so the file is copied.
            try copy(path, into: path, chapters)
            return try RecordingRepair.check(file: path)
        }
    }

    /// Copies `source` to a temporary file beside `output`, synchronises it to the disk and renames it to `output`.
    static func copy(
        _ source: String, into output: String, _ chapters: [RecordingChapter] = [], muxer: String = "mp4"
    ) throws(RecordingError) {
        // The copy needs the file's size once more, since the source stays until the end.
        if let size = size(of: source), !hasRoom(for: size, at: output, nil) { throw .diskFull(path: output) }
        // A process that still writes the file closes it itself.
        let held = open(source, O_RDONLY | O_CLOEXEC)
        guard held >= 0 else { throw .unreadable(path: source, reason: String(cString: strerror(errno))) }
        defer { Glibc.close(held) }
        guard SystemFile.lock(held) else { throw .inUse(path: source) }
        let temporary = output + closingSuffix
        do throws(RecordingError) {
            unlink(temporary)
            Glibc.close(try FileSink.make(temporary))
            try copyPackets(source, to: temporary, chapters, muxer)
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

    static func size(of path: String) -> Int? {
        var file = stat()
        return stat(path, &file) == 0 ? Int(file.st_size) : nil
    }

    /// Whether a copy of `size` bytes fits; a copy is at most a little larger than the fragments.
    static func hasRoom(for size: Int, at output: String, _ reserve: DiskReserve?) -> Bool {
        let bytes = size + size / 20
        if let reserve { return reserve.hasRoom(for: bytes) }
        return RecordingDisk.systemSpace(FileSink.directory(of: output)).map { $0.free >= bytes } ?? true
    }

    /// The suffix of the temporary file of a copy.
    static let closingSuffix = ".closing"

    private static func secure(_ path: String) throws(RecordingError) {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, path: path) }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system(errno, path: path) }
    }

    private static func copyPackets(
        _ source: String, to target: String, _ chapters: [RecordingChapter], _ muxer: String
    ) throws(RecordingError) {
        let input = try MP4Input(path: source, format: muxer == "mp4" ? "mp4" : "matroska")
        var output: UnsafeMutablePointer<AVFormatContext>?
        avformat_alloc_output_context2(&output, nil, muxer, target)
        guard let output else { throw .codec("the writer of \(muxer) files is not available") }
        defer {
            avio_closep(&output.pointee.pb)
            avformat_free_context(output)
        }
        if muxer != "mp4" { output.pointee.avoid_negative_ts = 0 }
        for stream in input.streams {
            guard let copy = avformat_new_stream(output, nil),
                avcodec_parameters_copy(copy.pointee.codecpar, stream.pointee.codecpar) >= 0
            else { throw .codec("out of memory") }
            // The muxer chooses any other tag itself.
            if copy.pointee.codecpar.pointee.codec_tag != FragmentWriter.avc3 {
                copy.pointee.codecpar.pointee.codec_tag = 0
            }
            copy.pointee.time_base = stream.pointee.time_base
        }
        add(chapters.isEmpty ? input.chapters : chapters, of: input.duration, to: output)
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

    /// The muxer writes them as a track and as a list.
    private static func add(
        _ chapters: [RecordingChapter], of duration: Double, to output: UnsafeMutablePointer<AVFormatContext>
    ) {
        let inside = chapters.filter { $0.at < duration }
        guard !inside.isEmpty,
            let list = av_calloc(inside.count, MemoryLayout<UnsafeMutablePointer<AVChapter>?>.stride)
        else { return }
        // The context owns the list and its chapters from here on.
        output.pointee.chapters = list.assumingMemoryBound(to: UnsafeMutablePointer<AVChapter>?.self)
        for (index, chapter) in inside.enumerated() {
            guard let memory = av_mallocz(MemoryLayout<AVChapter>.size) else { return }
            let made = memory.assumingMemoryBound(to: AVChapter.self)
            let end = index + 1 < inside.count ? inside[index + 1].at : duration
            made.pointee.id = Int64(index)
            made.pointee.time_base = AVRational(num: 1, den: 1000)
            made.pointee.start = Int64(chapter.at * 1000)
            made.pointee.end = Int64(end * 1000)
            av_dict_set(&made.pointee.metadata, "title", chapter.title, 0)
            output.pointee.chapters[index] = made
            output.pointee.nb_chapters = UInt32(index + 1)
        }
    }

    private static func check(_ code: Int32, _ path: String) throws(RecordingError) {
        if code < 0 { throw .system(cffmpeg_errno_from_error(code), path: path) }
    }
}
