import Basics
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
        defer { FileLock.release(held) }
        guard FileLock.take(held) else { throw .inUse(path: source) }
        try replace(output) { temporary throws(RecordingError) in
            try copyPackets(source, to: temporary, chapters, muxer)
        }
    }

    /// Writes a file beside `output`, synchronises it to the disk and renames it to `output`.
    static func replace(
        _ output: String, by write: (_ temporary: String) throws(RecordingError) -> Void
    ) throws(RecordingError) {
        let temporary = output + closingSuffix
        do throws(RecordingError) {
            unlink(temporary)
            Glibc.close(try FileSink.make(temporary))
            try write(temporary)
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
        WholeFile.syncFolder(of: output)
    }

    static func size(of path: String) -> Int? {
        var file = stat()
        return stat(path, &file) == 0 ? Int(file.st_size) : nil
    }

    /// Whether a copy of `size` bytes fits; a copy is at most a little larger than the fragments.
    static func hasRoom(for size: Int, at output: String, _ reserve: DiskReserve?) -> Bool {
        let bytes = size + size / 20
        if let reserve { return reserve.hasRoom(for: bytes) }
        return RecordingDisk.systemSpace(WholeFile.folder(of: output)).map { $0.free >= bytes } ?? true
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
        let output = try MP4Output(
            target, like: input, muxer: muxer, chapters: chapters.isEmpty ? input.chapters : chapters,
            until: input.duration)
        let known = muxer == "mp4" ? videos(of: source) : [:]
        var counts = input.streams.map { _ in 0 }
        while let packet = input.next() {
            let stream = Int(packet.pointee.stream_index)
            counts[stream] += 1
            if let video = known[stream], counts[stream] == video.count {
                packet.pointee.duration = video.lastDuration
            }
            av_packet_rescale_ts(packet, input.streams[stream].pointee.time_base, output.timeBase(stream))
            try output.write(packet)
        }
        guard output.count > 0 else { throw .nothingRecorded(path: source) }
        try output.finish()
    }

    /// How many pictures each video track of a fragmented file has, and how long the last one is shown, in the track's
    /// time scale; empty for other files. FFmpeg 5.1 gives the last sample of a fragmented track the mean duration, so
    /// that the picture would end before the audio where the last frames were late.
    private static func videos(of path: String) -> [Int: (count: Int, lastDuration: Int64)] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [:] }
        defer { Glibc.close(descriptor) }
        let file = MP4File(descriptor: descriptor, size: SystemFile.size(descriptor))
        let tables = (try? FragmentedFile(file, path: path))?.tables ?? []
        var found: [Int: (count: Int, lastDuration: Int64)] = [:]
        for (index, table) in tables.enumerated() where table.track.isVideo && table.sampleCount > 0 {
            found[index] = (table.sampleCount, table.lastDuration)
        }
        return found
    }
}
