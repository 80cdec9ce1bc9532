import Basics
import Glibc

/// Closes a fragmented file in place, without a copy: it appends an index, and a new header makes one `mdat` of
/// everything before. The texts of chapters are in an `mdat` of their own before the index.
///
/// Each step leaves a file that can be played and that can be closed again. The bytes behind the last complete fragment
/// are cut off. Then the index (`moov`) is appended and synchronised to the disk; readers skip a second `moov`. Finally
/// 16 bytes, in one sector, change the header of the first `moov` into that of an `mdat` that extends to the new
/// `moov`: an ordinary MP4 with its index at the end.
enum InPlaceClosing {
    static func close(_ path: String, chapters: [RecordingChapter] = []) throws(RecordingError) -> RecordingReport {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreadable(path: path, reason: String(cString: strerror(errno))) }
        defer { FileLock.release(descriptor) }
        guard FileLock.take(descriptor) else { throw .inUse(path: path) }
        let file = try FragmentedFile(MP4File(descriptor: descriptor, size: SystemFile.size(descriptor)), path: path)
        var index = MovieIndex(file)
        guard !index.isEmpty else { throw .nothingRecorded(path: path) }
        let texts = index.add(chapters, at: file.end)

        guard ftruncate(descriptor, off_t(file.end)) == 0 else { throw .system(errno, path: path) }
        let bytes = texts + index.box.bytes
        let code = SystemFile.write(descriptor, bytes, at: file.end)
        guard code == 0, fsync(descriptor) == 0 else {
            let error = RecordingError.system(code != 0 ? code : errno, path: path)
            _ = ftruncate(descriptor, off_t(file.end))
            throw error
        }
        var head: [UInt8] = []
        head.append32(1)
        head += "mdat".utf8
        head.append64(UInt64(file.end - file.header.start))
        let headCode = SystemFile.write(descriptor, head, at: file.header.start)
        guard headCode == 0, fsync(descriptor) == 0 else { throw .system(headCode != 0 ? headCode : errno, path: path) }
        return index.report(file: path, bytes: file.end + bytes.count)
    }
}
