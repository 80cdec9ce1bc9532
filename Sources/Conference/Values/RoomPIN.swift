/// The PIN of a room. Its text cannot be read again by clients, not even by a log line.
package struct RoomPIN: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// What a PIN may be, in words.
    package static let rule = "4 to 32 letters and digits"
    private static let maxLength = 32

    private let bytes: [UInt8]

    /// nil for a text that is no PIN.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let isAllowed = bytes.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
        }
        guard (4...Self.maxLength).contains(bytes.count), isAllowed else { return nil }
        self.bytes = bytes
    }

    /// For the stored state of the room alone.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Whether the text is this PIN, in a time that depends neither on the place of a difference nor on the lengths.
    package func matches(_ text: String) -> Bool {
        let other = Array(text.utf8.prefix(Self.maxLength + 1))
        var difference = bytes.count ^ other.count
        for index in 0...Self.maxLength {
            let ours = index < bytes.count ? bytes[index] : 0
            let theirs = index < other.count ? other[index] : 0
            difference |= Int(ours ^ theirs)
        }
        return difference == 0
    }

    package var description: String { "a PIN" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
