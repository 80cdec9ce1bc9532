import Codecs
import Glibc
import Streaming

/// A file below `inputs.directory`.
final class FileSource: ByteSource {
    let length: Int64?
    let isSeekable = true
    let descriptor: Int32

    /// Takes over the descriptor of a file that the server has opened.
    init(descriptor: Int32, length: Int64) { (self.descriptor, self.length) = (descriptor, length) }

    /// - Throws: `StreamingError` where there is no such file, or it lies elsewhere once all links are followed.
    init(_ path: String, below directory: String) throws(StreamingError) {
        guard let base = realpath(directory, nil) else {
            throw .refused("The folder of inputs.directory does not exist.")
        }
        defer { free(base) }
        let root = String(cString: base)
        let missing = StreamingError.refused("There is no file \(path) below inputs.directory.")
        // A pipe would block the opening.
        let descriptor = open(root + "/" + path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw missing }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            // What was opened counts, not what the path leads to now.
            let place = Self.path(of: descriptor), place.hasPrefix(root == "/" ? root : root + "/")
        else {
            close(descriptor)
            throw missing
        }
        self.descriptor = descriptor
        length = Int64(status.st_size)
    }

    deinit { close(descriptor) }

    private static func path(of descriptor: Int32) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink("/proc/self/fd/\(descriptor)", &buffer, Int(PATH_MAX))
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            if errno != EINTR { throw DemuxError.failed(String(cString: strerror(errno))) }
        }
    }

    func seek(to position: Int64) throws {
        guard lseek(descriptor, off_t(position), SEEK_SET) >= 0 else {
            throw DemuxError.failed(String(cString: strerror(errno)))
        }
    }
}
