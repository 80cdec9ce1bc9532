/// Which picture: the room's, or one that some participants have chosen for themselves. Who chose the same shares it.
package enum ViewID: Hashable, Sendable {
    case room
    case personal(PersonalView)
}

/// What a picture of one's own is made of. Equal ones are one view.
package struct PersonalView: Hashable, Sendable {
    /// The layout's name: here only a part of the view's identity.
    package var layout: String
    /// Sorted.
    package var pins: [String]

    package init(layout: String, pins: [String]) {
        self.layout = layout
        self.pins = pins
    }
}
