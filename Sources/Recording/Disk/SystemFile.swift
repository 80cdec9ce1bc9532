import Glibc

/// Reads and writes whole blocks at an offset of a file, and continues after signals.
enum SystemFile {
    /// Reads exactly `count` bytes from `offset` on; nil where there are fewer.
    static func read(_ descriptor: Int32, _ count: Int, at offset: Int) -> [UInt8]? {
        // An array without elements is one for the whole process, and this initializer writes its count.
        guard count > 0 else { return [] }
        var done = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while done < count, let base = buffer.baseAddress {
                let got = pread(descriptor, base + done, count - done, off_t(offset + done))
                if got < 0, errno == EINTR { continue }
                if got <= 0 { break }
                done += got
            }
            initialized = done
        }
        return done == count ? bytes : nil
    }

    /// The bytes of a file; nil where it cannot be read, or has more than so many.
    static func read(path: String, upTo limit: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let size = size(descriptor)
        return size <= limit ? read(descriptor, size, at: 0) : nil
    }

    /// Writes all `bytes`. Returns 0, or the `errno` of a failure.
    static func write(_ descriptor: Int32, _ bytes: [UInt8], at offset: Int) -> Int32 {
        bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count, let base = buffer.baseAddress {
                let count = pwrite(descriptor, base + done, buffer.count - done, off_t(offset + done))
                if count < 0, errno == EINTR { continue }
                if count < 0 { return errno }
                done += count
            }
            return 0
        }
    }

    static func size(_ descriptor: Int32) -> Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }
}
