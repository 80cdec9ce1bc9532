import Cryptography

/// A user name fragment and its password (RFC 8445 §5.3).
public struct ICECredentials: Hashable, Sendable {
    /// The user name fragment, 4–256 characters.
    public var ufrag: String
    /// The password, 22–256 characters.
    public var password: String

    /// 8 characters of 6 bits: the fragment also identifies the peer on a shared port, so it must be unique.
    static let ufragLength = 8
    /// 144 bits; RFC 8445 §5.3 requires 128.
    static let passwordLength = 24

    /// Makes credentials from text; `isWellFormed` is whether a peer may use them.
    public init(ufrag: String, password: String) {
        self.ufrag = ufrag
        self.password = password
    }

    /// New credentials from the cryptographic library's generator.
    public static func random() -> ICECredentials {
        ICECredentials(ufrag: randomToken(ufragLength), password: randomToken(passwordLength))
    }

    /// `count` random ice-chars.
    public static func randomToken(_ count: Int) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        return String(decoding: randomBytes(count).map { alphabet[Int($0 & 63)] }, as: UTF8.self)
    }

    /// Whether `text` consists of printable characters without spaces. RFC 8839's ice-char is narrower, but peers send
    /// others too.
    private static func isToken(_ text: Substring) -> Bool { text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }

    /// RFC 8839 §5.4: up to 256 characters; shorter ones are not random enough for a credential.
    static func isUfrag(_ text: Substring) -> Bool { (4...256).contains(text.utf8.count) && isToken(text) }
    static func isPassword(_ text: Substring) -> Bool { (22...256).contains(text.utf8.count) && isToken(text) }

    /// Whether both parts have a length and characters that a peer may choose.
    public var isWellFormed: Bool { Self.isUfrag(Substring(ufrag)) && Self.isPassword(Substring(password)) }
}
