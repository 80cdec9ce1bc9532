/// Splits text by its UTF-8 bytes: the syntax of the protocols is ASCII, and a search by `Character` costs several
/// times as much.
extension StringProtocol where SubSequence == Substring {
    /// The non-empty parts between `separator`s. With more than `maximum` parts, the last one holds the whole rest.
    @inlinable package func parts(_ separator: Unicode.Scalar = " ", maximum: Int = .max) -> [Substring] {
        let separator = UInt8(ascii: separator)
        var rest = Substring(self).utf8
        var result: [Substring] = []
        while let start = rest.firstIndex(where: { $0 != separator }) {
            rest = rest[start...]
            guard result.count < maximum - 1, let end = rest.firstIndex(of: separator) else {
                result.append(Substring(rest))
                break
            }
            result.append(Substring(rest[..<end]))
            rest = rest[end...]
        }
        return result
    }

    /// The first word and the text behind it, which may be empty; nil where there is no word.
    @inlinable package func firstWord() -> (word: Substring, rest: Substring)? {
        let space = UInt8(ascii: " ")
        let whole = Substring(self).utf8
        guard let start = whole.firstIndex(where: { $0 != space }) else { return nil }
        guard let end = whole[start...].firstIndex(of: space) else { return (Substring(whole[start...]), "") }
        let rest = whole[end...].firstIndex { $0 != space } ?? whole.endIndex
        return (Substring(whole[start..<end]), Substring(whole[rest...]))
    }

    /// The text before and behind the first `separator`; nil where there is none.
    @inlinable package func divided(at separator: Unicode.Scalar) -> (head: Substring, tail: Substring)? {
        let whole = Substring(self).utf8
        guard let index = whole.firstIndex(of: UInt8(ascii: separator)) else { return nil }
        return (Substring(whole[..<index]), Substring(whole[whole.index(after: index)...]))
    }

    /// The text without leading and trailing spaces and tabs.
    @inlinable package func trimmingSpaces() -> Substring {
        var slice = Substring(self).utf8
        while let first = slice.first, first == 0x20 || first == 0x09 { slice.removeFirst() }
        while let last = slice.last, last == 0x20 || last == 0x09 { slice.removeLast() }
        return Substring(slice)
    }

    /// The text without white space and line ends of any kind at its ends.
    package func trimmingWhitespace() -> String {
        var rest = Substring(self).unicodeScalars
        while let first = rest.first, first.properties.isWhitespace { rest.removeFirst() }
        while let last = rest.last, last.properties.isWhitespace { rest.removeLast() }
        return String(rest)
    }

    /// Whether both are equal, ignoring the case of ASCII letters; `other` must be in lower case. Allocates nothing.
    @inlinable package func equals(lowercase other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { byte, wanted in
                byte == wanted || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) && byte | 0x20 == wanted
            }
    }
}
