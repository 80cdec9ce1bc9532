import Basics

/// The fields of a form or of a URL's query: `application/x-www-form-urlencoded` (WHATWG URL §5.1).
package struct FormBody: Sendable, Equatable {
    /// The most fields that are read; further ones are ignored.
    package static let maxFields = 64

    private let fields: [(name: String, value: String)]

    /// Reads the fields. Any bytes are a form: an invalid escape stands for itself, invalid UTF-8 becomes U+FFFD.
    package init(_ bytes: some Collection<UInt8>) {
        fields = bytes.split(separator: UInt8(ascii: "&"), maxSplits: FormBody.maxFields)
            .prefix(FormBody.maxFields)
            .map { field in
                let halves = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                return (FormBody.decode(halves[0]), halves.count == 2 ? FormBody.decode(halves[1]) : "")
            }
    }

    /// The fields of a URL's query, which is the text behind the first `?`.
    package init(queryOf uri: String) {
        let bytes = uri.utf8
        guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else {
            self.init([])
            return
        }
        self.init(bytes[bytes.index(after: mark)...])
    }

    /// The value of the first field with this name.
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    package var count: Int { fields.count }

    package static func == (one: FormBody, other: FormBody) -> Bool {
        one.fields.elementsEqual(other.fields) { $0 == $1 }
    }

    private static func decode(_ text: some Collection<UInt8>) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index = text.index(after: index)
            if byte == UInt8(ascii: "+") {
                bytes.append(UInt8(ascii: " "))
            } else if byte == UInt8(ascii: "%"), let high = digit(text, index),
                let low = digit(text, text.index(after: index))
            {
                bytes.append(high << 4 | low)
                index = text.index(index, offsetBy: 2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func digit<Text: Collection<UInt8>>(_ text: Text, _ index: Text.Index) -> UInt8? {
        index < text.endIndex ? Hexadecimal.value(ofDigit: text[index]) : nil
    }
}
