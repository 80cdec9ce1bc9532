/// Identifies a view: the room's, or one that participants have chosen for themselves. Participants with equal choices
/// share a view.
package enum ViewID: Hashable, Sendable {
    case room
    case personal(PersonalView)
}

/// A participant's own choice of layout and pins.
package struct PersonalView: Hashable, Sendable {
    /// The layout's name: here only a part of the view's identity.
    package var layout: String
    /// In their order, each once.
    package var pins: [String]

    package init(layout: String, pins: [String]) {
        self.layout = layout
        self.pins = pins
    }
}
