/// Percent-encoding (RFC 3986 §2.1) of UTF-8.
extension StringProtocol {
    /// The text without escapes; nil where `%` is not followed by two hexadecimal digits, or the bytes are no UTF-8.
    package var percentDecoded: String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        var rest = utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(Hexadecimal.value), let low = rest.next().flatMap(Hexadecimal.value)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The text with everything escaped but ASCII letters, digits and the characters of `kept`.
    package func percentEncoded(keeping kept: StaticString = "") -> String {
        var text = ""
        for byte in utf8 {
            let isKept = kept.withUTF8Buffer { $0.contains(byte) }
            if isKept || Unicode.Scalar(byte).isLetterOrDigit {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether this is one of `A`–`Z`, `a`–`z`, `0`–`9`.
    fileprivate var isLetterOrDigit: Bool {
        switch self {
        case "a"..."z", "A"..."Z", "0"..."9": true
        default: false
        }
    }
}
