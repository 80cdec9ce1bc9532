import Glibc

/// The state of a file, by which a change is seen without reading it.
struct FileStamp: Equatable {
    private var seconds: Int
    private var nanoseconds: Int
    private var size: Int
    private var inode: UInt

    /// nil: there is no such file.
    init?(_ path: String) {
        var info = stat()
        guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
        seconds = info.st_mtim.tv_sec
        nanoseconds = info.st_mtim.tv_nsec
        size = Int(info.st_size)
        inode = UInt(info.st_ino)
    }

    /// The first `most` bytes of a file; nil: it cannot be read.
    static func read(_ path: String, most: Int) -> [UInt8]? {
        guard let file = fopen(path, "rb") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: most)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else { return nil }
        return Array(bytes.prefix(count))
    }
}
