/// An archive in the ustar format (POSIX.1-2017, pax: *ustar Interchange Format*), of small files that are in memory.
package struct TarArchive: Sendable {
    private static let blockSize = 512

    private var blocks: [UInt8] = []
    /// Seconds since 1970, of all files.
    private let time: Int

    package init(time: Int) { self.time = time }

    /// Adds a file.
    ///
    /// - Parameters:
    ///   - path: of at most 100 bytes; more are cut.
    ///   - bytes: less than 8 GiB.
    package mutating func add(_ path: String, _ bytes: [UInt8]) {
        var header = [UInt8](repeating: 0, count: Self.blockSize)
        func put(_ text: String, at offset: Int, most: Int) {
            for (index, byte) in text.utf8.prefix(most).enumerated() { header[offset + index] = byte }
        }
        func putOctal(_ value: Int, at offset: Int, digits: Int) {
            let text = String(value, radix: 8)
            put(String(repeating: "0", count: max(0, digits - text.count)) + text, at: offset, most: digits)
        }
        put(path, at: 0, most: 100)
        putOctal(0o600, at: 100, digits: 7)
        putOctal(0, at: 108, digits: 7)
        putOctal(0, at: 116, digits: 7)
        putOctal(bytes.count, at: 124, digits: 11)
        putOctal(time, at: 136, digits: 11)
        // The sum is made with blanks in its own place.
        put("        ", at: 148, most: 8)
        put("0", at: 156, most: 1)
        put("ustar", at: 257, most: 5)
        put("00", at: 263, most: 2)
        putOctal(header.reduce(0) { $0 + Int($1) }, at: 148, digits: 6)
        header[154] = 0
        blocks += header + bytes
        let rest = bytes.count % Self.blockSize
        if rest > 0 { blocks += [UInt8](repeating: 0, count: Self.blockSize - rest) }
    }

    /// The whole archive, with its end.
    package var bytes: [UInt8] { blocks + [UInt8](repeating: 0, count: 2 * Self.blockSize) }
}
