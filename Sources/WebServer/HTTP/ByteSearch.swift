/// Finds a pattern among bytes. Every byte is read at most twice, whatever the pattern and the bytes are (Knuth, Morris
/// and Pratt, 1977), so who chooses both cannot make a search longer than its bytes.
struct ByteSearch: Sendable {
    private let pattern: [UInt8]
    /// For every length of a match: the longest shorter match that ends at the same byte.
    private let shorter: [Int]

    /// - Parameter pattern: at least one byte.
    init(_ pattern: [UInt8]) {
        precondition(!pattern.isEmpty, "a search needs a pattern")
        self.pattern = pattern
        var shorter = [0, 0]
        var length = 0
        for byte in pattern.dropFirst() {
            while length > 0, pattern[length] != byte { length = shorter[length] }
            if pattern[length] == byte { length += 1 }
            shorter.append(length)
        }
        self.shorter = shorter
    }

    /// The first place of the pattern that begins at `start` or behind it, and before `limit`.
    func first<Bytes: RandomAccessCollection<UInt8>>(in bytes: Bytes, from start: Int, upTo limit: Int = .max) -> Int?
    where Bytes.Index == Int {
        let end = limit > bytes.endIndex - pattern.count ? bytes.endIndex : limit + pattern.count - 1
        var (index, length) = (max(start, bytes.startIndex), 0)
        while index < end {
            let byte = bytes[index]
            while length > 0, pattern[length] != byte { length = shorter[length] }
            if pattern[length] == byte { length += 1 }
            index += 1
            if length == pattern.count { return index - length }
        }
        return nil
    }
}
