/// Finds the lines of a journal in its bytes. A value.
struct JournalReader {
    struct Line: Equatable {
        var id: String
        var time: Int64
        var isReplaceable: Bool
        var place: WebhookJournal.Place
    }

    /// The longest part of a line before its body.
    private static let headLength = 128

    /// The offset of the first byte of the line that is being read.
    private(set) var lineStart = 0
    /// Whether a line could not be read.
    private(set) var isTorn = false
    private var offset = 0
    private var head: [UInt8] = []

    /// Reads the next bytes of the file.
    mutating func read(_ bytes: ArraySlice<UInt8>, found: (Line) -> Void) {
        var rest = bytes
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n"))
            let part = rest[..<(end ?? rest.endIndex)]
            if head.count < Self.headLength { head += part.prefix(Self.headLength - head.count) }
            offset += part.count
            rest = rest[(end ?? rest.endIndex)...]
            guard end != nil else { return }
            if let line = line() { found(line) }
            rest = rest.dropFirst()
            offset += 1
            (lineStart, head) = (offset, [])
        }
    }

    /// The waiting event of the line that ends before `offset`.
    private mutating func line() -> Line? {
        if head.first == UInt8(ascii: "-") { return nil }
        let parts = head.split(separator: UInt8(ascii: " "), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].first == UInt8(ascii: "+"), (2...64).contains(parts[0].count),
            let time = Int64(text(parts[1])), let length = Int(text(parts[3])), length > 0,
            parts[2].count == 1, parts[2].first == UInt8(ascii: "u") || parts[2].first == UInt8(ascii: "e"),
            length == offset - lineStart - (parts[4].startIndex - head.startIndex)
        else {
            isTorn = true
            return nil
        }
        return Line(
            id: text(parts[0].dropFirst()), time: time, isReplaceable: parts[2].first == UInt8(ascii: "u"),
            place: WebhookJournal.Place(
                offset: lineStart, body: lineStart + parts[4].startIndex - head.startIndex, length: length))
    }

    private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}
