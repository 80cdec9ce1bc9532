import Foundation

/// What rooms and participants may be called.
public enum Names {
    public static let allowedLength = 1...64
    /// For people, of `isRoom`.
    public static let roomRule =
        "1 to 64 characters, without control characters, /, \\, ?, # and %, and no dot in front"

    /// A name as it is shown: without control characters, spaces trimmed, 1 to 64 characters and 256 bytes, and
    /// something to see in it; nil if that is not so.
    public static func shown(_ text: String) -> String? {
        // Whatever its bytes become, a name is short.
        guard text.utf8.count <= 1024 else { return nil }
        let name = String(String.UnicodeScalarView(text.unicodeScalars.filter { !$0.isHiddenControl }))
            .trimmingCharacters(in: .whitespacesAndNewlines)
        guard allowedLength.contains(name.count), name.utf8.count <= 256,
            name.unicodeScalars.contains(where: \.isVisible)
        else { return nil }
        return name
    }

    /// Whether a room can have this id: a text of up to 64 characters and 128 bytes that can stand in a link and does
    /// not look like a path.
    public static func isRoom(_ text: String) -> Bool {
        guard (1...128).contains(text.utf8.count), allowedLength.contains(text.count), text.first != ".",
            text.first != " ", text.last != " ",
            text.unicodeScalars.contains(where: \.isVisible)
        else { return false }
        return text.unicodeScalars.allSatisfy {
            !$0.isHiddenControl && $0 != "/" && $0 != "\\" && $0 != "?" && $0 != "#" && $0 != "%"
        }
    }
}

extension Unicode.Scalar {
    /// What changes how other characters stand, or breaks the line, and is not seen itself: bidirectional controls (UAX
    /// #9), zero-width characters, separators. The two joiners and the tags stay: scripts and emoji are made with them.
    fileprivate var isHiddenControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate: true
        case .format: value != 0x200C && value != 0x200D && !(0xE0020...0xE007F).contains(value)
        default: false
        }
    }

    /// Alone it puts something on the screen: no space, no mark that needs another, no filler.
    fileprivate var isVisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .nonspacingMark, .enclosingMark,
            .spacingMark,
            .unassigned, .privateUse, .surrogate:
            false
        // U+2800 is the braille pattern without dots.
        default: !properties.isDefaultIgnorableCodePoint && value != 0x2800
        }
    }
}
