/// Identifies a picture that a room makes: that of a named view, or a participant's own choice on the canvas of a named
/// view. Participants with equal choices share one.
package struct ViewID: Hashable, Sendable {
    /// The named view: `main`, `portrait` or another that the room has.
    package var name: String
    /// nil: the named view as it is.
    package var choice: ViewChoice?
    /// The participant who alone gets the picture, and is not in it; nil: several may get it.
    private(set) package var viewer: String?
    /// Whose participants it shows.
    package var group: GroupID
    /// For the picture that leaves the room, without participants who are not recorded (`Scene.outgoing`): which of the
    /// room's cuts it was begun at. nil: the picture that participants get.
    private(set) var cut: Int?

    package init(_ name: String, choice: ViewChoice? = nil, group: GroupID = .main) {
        self.name = name
        self.choice = choice
        self.group = group
    }

    /// This view as one participant gets it, without itself.
    package func without(_ viewer: String) -> ViewID {
        var view = self
        view.viewer = viewer
        return view
    }

    /// This view with everyone in it.
    package var withEveryone: ViewID {
        var view = self
        view.viewer = nil
        return view
    }

    /// The picture of this view that leaves the room, begun at a cut.
    func outgoing(_ cut: Int) -> ViewID {
        var view = self
        view.cut = cut
        return view
    }

    /// Whether this is the picture that leaves the room while somebody is not recorded.
    package var isOutgoing: Bool { cut != nil }

    /// The view as participants get it.
    var inRoom: ViewID {
        var view = self
        view.cut = nil
        return view
    }

    /// The room's own view.
    package static let main = ViewID("main")

    /// The main view of a group's participants.
    package static func main(of group: GroupID) -> ViewID { ViewID(main.name, group: group) }
}

/// A participant's own choice of layout and pins.
package struct ViewChoice: Hashable, Sendable {
    /// The layout's name: here only a part of the view's identity.
    package var layout: String
    /// The pinned participants, each once, in the order of the places that they get.
    package var pins: [String]

    package init(layout: String, pins: [String]) {
        self.layout = layout
        self.pins = pins
    }
}

/// The size, the frame rate and the ladder of a view's picture.
package struct ViewFormat: Hashable, Sendable {
    /// In pixels.
    package var width: Int
    package var height: Int
    package var framesPerSecond: Int
    /// nil: the server's.
    package var rungs: [RoomMediaConfiguration.Rung]?

    package init(width: Int, height: Int, framesPerSecond: Int, rungs: [RoomMediaConfiguration.Rung]? = nil) {
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
        self.rungs = rungs
    }
}
