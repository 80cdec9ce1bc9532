import Mixing
import RoomMedia

/// The layout that views take while somebody presents (`rooms.onPresent`).
public enum OnPresent: Hashable, Sendable {
    /// Views keep their layouts.
    case off
    /// The name of a layout.
    case layout(String)

    /// Reads the form of the settings and of the API; nil where no layout can have this name.
    public init?(_ text: String) {
        if text == "off" {
            self = .off
        } else if Layout.isName(text) {
            self = .layout(text)
        } else {
            return nil
        }
    }

    public var text: String { layout ?? "off" }

    /// The name of the layout; nil: none.
    public var layout: String? {
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
        /// The number of the presenting (see `Room.presentings`) during which it was chosen; nil: nobody presented.
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

extension Room {
    var isPresented: Bool { members.contains(where: \.isPresenting) }

    var presentingLayout: PresentingLayout {
        PresentingLayout(
            current: isPresented ? settings.onPresent.layout.map { ($0, presentings) } : nil,
            withOwnRules: layoutsWithPresentingRules)
    }

    /// The layout of the room's view.
    var shownLayout: String { presentingLayout.shown(choice) }

    /// The layout of a member's view.
    func shownLayout(of member: Member) -> String {
        presentingLayout.shown(member.view.map { member.choice(of: $0) } ?? choice)
    }

    /// The personal views that members get now, by the ids of those who chose them. A view that shows the same as the
    /// room's is none.
    var shownViews: [String: PersonalView] {
        let chosen = members.compactMap { member in member.view.map { (member.id, member.choice(of: $0), $0.pins) } }
        if chosen.isEmpty { return [:] }
        let layouts = presentingLayout
        let common = layouts.shown(choice)
        var views: [String: PersonalView] = [:]
        for (id, choice, pins) in chosen {
            let layout = layouts.shown(choice)
            if layout != common || !pins.isEmpty { views[id] = PersonalView(layout: layout, pins: pins) }
        }
        return views
    }

    private var choice: PresentingLayout.Choice {
        PresentingLayout.Choice(layout: settings.layout, during: layoutChosenDuring)
    }

    /// The members of `old` whose view shows another layout now, with its name.
    func relaid(since old: Room) -> [String: String] {
        let (before, now) = (old.presentingLayout, presentingLayout)
        let (roomBefore, roomNow) = (before.shown(old.choice), now.shown(choice))
        let hasOwn = members.contains { $0.view != nil } || old.members.contains { $0.view != nil }
        if roomBefore == roomNow, !hasOwn { return [:] }
        let earlier = Dictionary(
            old.members.map { member in
                (member.id, member.view.map { before.shown(member.choice(of: $0)) } ?? roomBefore)
            },
            uniquingKeysWith: { first, _ in first })
        var changed: [String: String] = [:]
        for member in members {
            let layout = member.view.map { now.shown(member.choice(of: $0)) } ?? roomNow
            if let was = earlier[member.id], was != layout { changed[member.id] = layout }
        }
        return changed
    }
}

extension Member {
    fileprivate func choice(of view: PersonalView) -> PresentingLayout.Choice {
        PresentingLayout.Choice(layout: view.layout, during: viewChosenDuring)
    }
}
