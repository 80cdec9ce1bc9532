/// Finds emoji in names.
enum Emoji {
    /// The text without emoji; nil where it has none, or nothing else.
    static func without(_ text: String) -> String? {
        let rest = text.filter { !isEmoji($0) }
        guard rest.count < text.count, rest.contains(where: { !$0.isWhitespace }) else { return nil }
        return rest.split(separator: " ").joined(separator: " ")
    }

    /// Whether a character is drawn as a picture: digits and signs such as © are emoji for Unicode too, but text unless
    /// a variation selector (U+FE0F) follows them (UTS #51 §1.4.3).
    private static func isEmoji(_ character: Character) -> Bool {
        character.unicodeScalars.contains { scalar in
            scalar.properties.isEmojiPresentation || scalar.value == 0xFE0F
                || scalar.properties.isEmoji && scalar.value >= 0x203C
        }
    }
}
