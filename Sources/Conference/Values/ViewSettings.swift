import Basics
package import RoomMedia

/// A named view of a room: a picture of its own beside the room's. What is nil is as in the room's own view, `main`.
package struct ViewSettings: Hashable, Sendable {
    package var layout: String?
    /// In pixels, even.
    package var width: Int?
    package var height: Int?
    package var framesPerSecond: Int?
    /// The ladder, from the top down.
    package var renditions: [RoomMediaConfiguration.Rung]?
    /// Whether tiles show names, whatever the layout says.
    package var names: Bool?

    package init() {}

    /// The room's own view: `layout`, `width`, `height` and `framesPerSecond` of its settings.
    package static let main = ViewID.main.name
    /// An upright picture for phones, 9:16, which every room has.
    package static let portrait = "portrait"
    /// The view that recordings take in rooms that have it.
    package static let recording = "recording"
    /// The view that HLS streams take in rooms that have it.
    package static let hls = "hls"

    /// Whether a view can have this name: 1 to 64 of a-z, 0-9, `-` and `_`, as a layout.
    package static func isName(_ text: String) -> Bool { LayoutDocument.isName(text) }

    /// The most named views of a room, without `main` and `portrait`.
    package static let most = 16
    /// The allowed ranges of the sides, in pixels.
    package static let side = 90...3840
    package static let rungs = 1...8
    /// The allowed bit rates of a rung.
    package static let bitsPerSecond = 16_000...50_000_000

    /// The rule that the settings break; nil: none.
    var fault: String? {
        for (name, side) in [("width", width), ("height", height)] {
            if let side, !Self.side.contains(side) || side % 2 != 0 {
                return "\(name): an even number from \(Self.side.lowerBound) to \(Self.side.upperBound)"
            }
        }
        let rates = RoomSettings.allowed.framesPerSecond
        if let framesPerSecond, !rates.contains(framesPerSecond) {
            return "framesPerSecond: a whole number from \(rates.lowerBound) to \(rates.upperBound)"
        }
        if let renditions, !Self.rungs.contains(renditions.count) {
            return "renditions: a list of \(Self.rungs.lowerBound) to \(Self.rungs.upperBound)"
        }
        return nil
    }
}

/// The picture that a participant gets.
package struct ShownLayout: Hashable, Sendable {
    /// The name of the layout.
    package var name: String
    /// The name of the view.
    package var view: String
    /// `me`: the layout is the participant's own choice.
    package var scope: LayoutScope
    /// Whom the participant has pinned, in order.
    package var pins: [String]

    package init(name: String, view: String = ViewSettings.main, scope: LayoutScope = .room, pins: [String] = []) {
        self.name = name
        self.view = view
        self.scope = scope
        self.pins = pins
    }
}

/// A view of a room as clients see it.
package struct ViewInfo: Hashable, Sendable {
    /// The picture's layout; `scope` is `me` for a choice that participants have made for themselves.
    package var shown: ShownLayout
    /// In pixels.
    package var width: Int
    package var height: Int
    package var framesPerSecond: Int
    /// Whether tiles show names; nil: as the layout says.
    package var names: Bool?
    /// The participants that get it.
    package var participants: Int
    package var isRecorded: Bool

    package init(
        shown: ShownLayout, width: Int, height: Int, framesPerSecond: Int, names: Bool? = nil, participants: Int,
        isRecorded: Bool = false
    ) {
        self.shown = shown
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
        self.names = names
        self.participants = participants
        self.isRecorded = isRecorded
    }
}

extension RoomSettings {
    /// The names of all views, `main` first.
    package var viewNames: [String] {
        [ViewSettings.main] + Set(views.keys).union([ViewSettings.portrait]).sorted()
    }

    func hasView(_ name: String) -> Bool {
        name == ViewSettings.main || name == ViewSettings.portrait || views[name] != nil
    }

    /// A named view as a new room with these settings has it; nil: there is none of this name.
    ///
    /// - Parameters:
    ///   - presenting: whether somebody presents there.
    ///   - withOwnRules: the layouts with rules for presenting, which such a view keeps.
    package func view(_ name: String, presenting: Bool, withOwnRules: Set<String>) -> ViewInfo? {
        guard hasView(name) else { return nil }
        let (format, own) = (format(ofView: name), views[name])
        let shown = PresentingLayout(
            current: presenting ? onPresent.layout.map { ($0, 1) } : nil, withOwnRules: withOwnRules
        ).shown(PresentingLayout.Choice(layout: own?.layout ?? layout))
        return ViewInfo(
            shown: ShownLayout(name: shown, view: name), width: format.width, height: format.height,
            framesPerSecond: format.framesPerSecond, names: own?.names, participants: 0)
    }

    /// The view that recordings take.
    var recordedView: ViewID {
        ViewID(views[ViewSettings.recording] == nil ? ViewSettings.main : ViewSettings.recording)
    }

    /// The view that HLS streams take.
    var streamedView: ViewID { ViewID(views[ViewSettings.hls] == nil ? ViewSettings.main : ViewSettings.hls) }

    /// The size, rate and ladder of a named view.
    func format(ofView name: String) -> ViewFormat {
        let own = views[name] ?? ViewSettings()
        var (width, height) = (width, height)
        if name == ViewSettings.portrait {
            // As wide as the room's picture is high, so that tiles have as much detail; 16:9 upright.
            width = min(width, height)
            height = (width * 16 / 9 + 1) & ~1
        }
        return ViewFormat(
            width: own.width ?? width, height: own.height ?? height,
            framesPerSecond: own.framesPerSecond ?? framesPerSecond, rungs: own.renditions)
    }
}
