/// The end of a text that comes in pieces, in bounded memory.
struct OutputTail: Sendable {
    static let capacity = 2048

    private var bytes: [UInt8] = []

    mutating func append(_ piece: ArraySlice<UInt8>) {
        bytes += piece.suffix(Self.capacity)
        // Cut now and then, not with each piece.
        if bytes.count > 4 * Self.capacity { bytes.removeFirst(bytes.count - Self.capacity) }
    }

    var text: String { plainText(bytes.suffix(Self.capacity)) }
}

/// The last line of a text that is not empty, in bounded memory; of a longer line its beginning.
struct LastLine: Sendable {
    static let longest = 1024

    private var complete: [UInt8] = []
    private var current: [UInt8] = []

    mutating func append(_ piece: ArraySlice<UInt8>) {
        for byte in piece {
            if byte == 0x0A {
                end()
            } else if current.count < Self.longest {
                current.append(byte)
            }
        }
    }

    private mutating func end() {
        if !plainText(current[...]).isEmpty { complete = current }
        current.removeAll(keepingCapacity: true)
    }

    var text: String {
        let last = plainText(current[...])
        return last.isEmpty ? plainText(complete[...]) : last
    }
}

/// The text without control characters but line ends, and without spaces around it.
private func plainText(_ bytes: ArraySlice<UInt8>) -> String {
    let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars.map { scalar in
        scalar.properties.generalCategory == .control && scalar != "\n" ? " " : scalar
    }
    var text = String(String.UnicodeScalarView(scalars))[...]
    text = text.drop { $0.isWhitespace }
    while text.last?.isWhitespace ?? false { text.removeLast() }
    return String(text)
}
