import Basics
import Glibc

/// Closes a file of fragments where it lies, without a copy: an index behind the fragments, and a header that makes one
/// `mdat` of all before.
///
/// Each step leaves a file that plays and that can be closed once more. What is behind the last whole fragment is cut
/// off. Then the index (`moov`) is written behind it and brought to the disk; readers skip a second `moov`. At last 16
/// bytes, in one sector, turn the head of the first `moov` into that of an `mdat` which reaches up to the new one: an
/// ordinary MP4 with its index at the end.
enum InPlaceClosing {
    static func close(_ path: String) throws(RecordingError) -> RecordingReport {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreadable(path: path, reason: String(cString: strerror(errno))) }
        defer { Glibc.close(descriptor) }
        guard SystemFile.lock(descriptor) else { throw .inUse(path: path) }
        let file = try FragmentedFile(MP4File(descriptor: descriptor, size: SystemFile.size(descriptor)), path: path)
        let index = MovieIndex(file)
        guard !index.isEmpty else { throw .nothingRecorded(path: path) }

        guard ftruncate(descriptor, off_t(file.end)) == 0 else { throw .system(errno, path: path) }
        let bytes = index.box.bytes
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
