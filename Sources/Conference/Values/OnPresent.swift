import Basics
import Mixing

/// The layout that views take while somebody presents (`rooms.onPresent`).
package enum OnPresent: Hashable, Sendable {
    /// Views keep their layouts.
    case off
    /// The name of a layout.
    case layout(String)

    /// Reads the form of the settings and of the API; nil where no layout can have this name.
    package init?(_ text: String) {
        if text == "off" {
            self = .off
        } else if LayoutDocument.isName(text) {
            self = .layout(text)
        } else {
            return nil
        }
    }

    package var text: String { layout ?? "off" }

    /// The name of the layout; nil: none.
    package var layout: String? {
        if case .layout(let name) = self { name } else { nil }
    }
}

/// The layouts of a room's views at one moment: those that were chosen, or the one of `rooms.onPresent`.
///
/// While somebody presents, a view takes that one, unless its own layout has rules for presenting, or was chosen during
/// the same presenting: a choice counts until nobody presents any more.
struct PresentingLayout {
    /// A layout as it was chosen for a view.
    struct Choice: Hashable, Sendable {
        var layout: String
        /// The number of the presenting (`Room.presenting(in:)`) during which it was chosen; nil: nobody presented.
        var during: Int?
    }

    /// The layout of `rooms.onPresent` and the number of the presenting; nil: nobody presents, or it is off.
    var current: (layout: String, presenting: Int)?
    /// The layouts with rules for presenting.
    var withOwnRules: Set<String>

    /// The layout that a view with this choice shows.
    func shown(_ choice: Choice) -> String {
        guard let current, choice.during != current.presenting, !withOwnRules.contains(choice.layout) else {
            return choice.layout
        }
        return current.layout
    }
}
