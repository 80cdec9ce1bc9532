import Basics
import FoundationEssentials
// For `_nfc`, which Foundation uses too: FoundationEssentials has no function for the composed form.
@_spi(_Unicode) import Swift

/// The rules for the names of rooms and participants.
package enum Names {
    package static let allowedLength = 1...64
    /// The rule of `isRoom`, for people.
    package static let roomRule =
        "1 to 64 characters in NFC, without control characters, /, \\, ?, # and %, no dot in front, and not ~socketIO"
    /// The name by which the nodes of a cluster agree which of them has the Socket.IO family. No room can have it.
    package static let socketIOFamily = "~socketIO"

    /// The displayed form of a name: without control characters, spaces trimmed. nil unless that has 1 to 64
    /// characters, at most 256 bytes, and something visible.
    package static func shown(_ text: String) -> String? {
        // Bounds the work on a long text, before anything is removed from it.
        guard text.utf8.count <= 1024 else { return nil }
        let name = String(String.UnicodeScalarView(text.unicodeScalars.filter { !$0.isHiddenControl }))
            .trimmingWhitespace()
        guard allowedLength.contains(name.count), name.utf8.count <= 256,
            name.unicodeScalars.contains(where: \.isVisible)
        else { return nil }
        return name
    }

    /// The text in NFC (UAX #15), the form of all ids of rooms: Swift's `==` ignores the difference, and neither URLs nor
    /// the keys of other stores do. A text that is too long for an id comes back as it is.
    package static func composed(_ text: String) -> String {
        guard text.utf8.count <= 1024, !text.utf8.allSatisfy({ $0 < 0x80 }) else { return text }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: text._nfc)
        return String(scalars)
    }

    /// Whether a room can have this id: a text in NFC of up to 64 characters and 128 bytes that fits into a URL and does not
    /// look like a path.
    package static func isRoom(_ text: String) -> Bool {
        guard (1...128).contains(text.utf8.count), allowedLength.contains(text.count), text.first != ".",
            text.first != " ", text.last != " ", text != socketIOFamily,
            text.unicodeScalars.contains(where: \.isVisible)
        else { return false }
        guard text.utf8.elementsEqual(composed(text).utf8) else { return false }
        return text.unicodeScalars.allSatisfy {
            !$0.isHiddenControl && $0 != "/" && $0 != "\\" && $0 != "?" && $0 != "#" && $0 != "%"
        }
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is invisible itself but reorders other characters or breaks the line: bidirectional controls
    /// (UAX #9), zero-width characters, separators. The two joiners and the tags are not: scripts and emoji need them.
    fileprivate var isHiddenControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate: true
        case .format: value != 0x200C && value != 0x200D && !(0xE0020...0xE007F).contains(value)
        default: false
        }
    }

    /// Whether the scalar alone shows something on the screen: it is no space, no combining mark, no filler.
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
