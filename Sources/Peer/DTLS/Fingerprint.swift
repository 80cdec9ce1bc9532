import Basics

/// The hash of a certificate as SDP carries it (RFC 8122 §5): `sha-256 AB:CD:…`.
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
    /// The hash function's name in lower case: `sha-256`.
    public let algorithm: String
    /// The length of a SHA-512 hash, the longest of RFC 8122 §5.
    private static let maximumBytes = 64
    /// The hash itself.
    public let bytes: [UInt8]

    /// Makes a fingerprint; `algorithm` in any case.
    public init(algorithm: String, bytes: [UInt8]) {
        self.algorithm = algorithm.lowercased()
        self.bytes = bytes
    }

    /// Parses `sha-256 AB:CD:…` with hexadecimal digits of either case; nil for anything else.
    public init?(parsing text: some StringProtocol) {
        let parts = Substring(text).parts(maximum: 3)
        guard parts.count == 2, parts[1].utf8.count % 3 == 2, parts[1].utf8.count <= 3 * Self.maximumBytes else {
            return nil
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts[1].utf8.count / 3 + 1)
        var high: UInt8?
        for (index, byte) in parts[1].utf8.enumerated() {
            guard index % 3 < 2 else {
                guard byte == UInt8(ascii: ":") else { return nil }
                continue
            }
            guard let digit = Hexadecimal.value(ofDigit: byte) else { return nil }
            if let first = high { bytes.append(first << 4 | digit) }
            high = high == nil ? digit : nil
        }
        self.init(algorithm: String(parts[0]), bytes: bytes)
    }

    /// `sha-256 AB:CD:…`, the value of an `a=fingerprint` line.
    public var description: String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 3)
        for (index, byte) in bytes.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ":")) }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return algorithm + " " + String(decoding: text, as: UTF8.self)
    }
}
