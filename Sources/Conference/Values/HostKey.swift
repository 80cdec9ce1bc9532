import Basics
import Cryptography

/// A secret by which a client is a host of its room, whoever joins first. Its text cannot be read from a log line.
package struct HostKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// What a key may be, in words: 22 letters of base64url have 128 bits.
    package static let rule = "22 to 128 letters, digits, - and _"
    private static let allowedLength = 22...128
    /// Of 5 bits each: 130 bits.
    private static let madeLength = 26
    /// Of a digest in hexadecimal digits.
    private static let digestLength = HashFunction.sha256.length * 2

    /// nil: only the digest is known, as in a stored state.
    let text: String?
    /// All that is stored: who reads it cannot join with it.
    let digest: String

    /// nil for a text that is no key.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let isAllowed = bytes.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 45
                || byte == 95
        }
        guard Self.allowedLength.contains(bytes.count), isAllowed else { return nil }
        self.text = text
        digest = Hexadecimal.encode(HashFunction.sha256.digest(bytes))
    }

    /// A key of a stored state; nil for a text that is no digest.
    init?(digest: String) {
        guard Self.isDigest(digest) else { return nil }
        (text, self.digest) = (nil, digest)
    }

    /// A random key.
    static func make() -> HostKey? { HostKey(RandomToken.make(madeLength)) }

    static func isDigest(_ text: String) -> Bool {
        text.utf8.count == digestLength
            && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    package var description: String { "a host key" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
