/// The hash of a certificate as SDP carries it (RFC 8122 §5): `sha-256 AB:CD:…`.
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
    /// The hash function's name in lower case: `sha-256`.
    public let algorithm: String
    /// The hash itself.
    public let bytes: [UInt8]

    public init(algorithm: String, bytes: [UInt8]) {
        self.algorithm = algorithm.lowercased()
        self.bytes = bytes
    }

    /// Reads `sha-256 AB:CD:…`; hexadecimal digits of either case are taken. Nil for anything else.
    public init?(parsing text: some StringProtocol) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2 else { return nil }
        var bytes: [UInt8] = []
        for pair in parts[1].split(separator: ":", omittingEmptySubsequences: false) {
            guard pair.utf8.count == 2, pair.utf8.allSatisfy({ Self.isHexDigit($0) }), let byte = UInt8(pair, radix: 16)
            else { return nil }
            bytes.append(byte)
            guard bytes.count <= 64 else { return nil }
        }
        guard !bytes.isEmpty else { return nil }
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

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
