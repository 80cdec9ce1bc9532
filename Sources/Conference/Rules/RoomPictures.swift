import Basics
import Mixing
import RoomMedia

/// What the members of a room see at one moment: each a named view, with its own choice of layout and pins on top.
struct RoomPictures {
    private let room: Room
    /// Of the room itself and of its open groups.
    private let presenting: [GroupID: PresentingLayout]
    private let two: [GroupID: CallOfTwo]

    init(of room: Room) {
        self.room = room
        let groups = [GroupID.main] + room.openGroups
        presenting = Dictionary(groups.map { ($0, room.presentingLayout(in: $0)) }) { first, _ in first }
        two = Dictionary(groups.map { ($0, CallOfTwo(room, in: $0)) }) { first, _ in first }
    }

    private func shown(_ choice: PresentingLayout.Choice, in group: GroupID) -> String {
        presenting[group]?.shown(choice) ?? choice.layout
    }

    /// The layout of a named view. One that has none of its own takes the group's, or the room's, as it was chosen
    /// there.
    func layout(ofView name: String, in group: GroupID = .main) -> String {
        if let own = room.settings.views[name]?.layout { return shown(PresentingLayout.Choice(layout: own), in: group) }
        var choice = PresentingLayout.Choice(layout: room.settings.layout, during: room.layoutChosenDuring)
        if group != .main {
            let its = room.breakout?.group(group)
            choice = PresentingLayout.Choice(
                layout: its?.layout ?? room.settings.layout, during: its?.layout == nil ? nil : its?.layoutChosenDuring)
        }
        return shown(choice, in: group)
    }

    /// The name of the view that a member gets: its own, that of the participant for whom it stands, or `main`. A view
    /// that the room does not have (any more) counts as none.
    func viewName(of member: Member) -> String {
        let wanted = member.viewName ?? member.asParticipant.flatMap { room.member($0)?.viewName }
        return wanted.flatMap { room.settings.hasView($0) ? $0 : nil } ?? ViewSettings.main
    }

    /// The view that a member gets. A choice that shows the same as the named view is none.
    func view(of member: Member) -> ViewID {
        let (name, group) = (viewName(of: member), room.watched(by: member))
        let owner = member.choice == nil ? member.asParticipant.flatMap { room.member($0) } ?? member : member
        let usual = self.layout(ofView: name, in: group)
        let named =
            two[group]?.view(ViewID(name, group: group), layout: usual, for: owner.id)
            ?? ViewID(name, group: group)
        guard let choice = owner.choice else { return named }
        let layout = shown(
            PresentingLayout.Choice(layout: choice.layout, during: owner.choiceMadeDuring), in: group)
        if choice.pins.isEmpty, layout == usual { return named }
        return ViewID(name, choice: ViewChoice(layout: layout, pins: choice.pins), group: group)
    }

    func shown(_ view: ViewID) -> ShownLayout {
        ShownLayout(
            name: view.choice?.layout ?? layout(ofView: view.name, in: view.group), view: view.name,
            scope: view.choice == nil ? .room : .me, pins: view.choice?.pins ?? [])
    }
}

extension Room {
    var pictures: RoomPictures { RoomPictures(of: self) }

    /// The view that a member gets. For several members, `pictures` is computed once.
    func view(of member: Member) -> ViewID { pictures.view(of: member) }

    /// The views of all members, by their ids.
    var views: [String: ViewID] {
        let pictures = pictures
        // Inputs see nothing.
        let takers = members.lazy.filter { !$0.isInput }
        return Dictionary(takers.map { ($0.id, pictures.view(of: $0)) }) { first, _ in first }
    }

    /// The layout of a view.
    func shown(_ view: ViewID) -> ShownLayout { pictures.shown(view) }

    /// Whether nothing changed since `old` that decides who sees what.
    func hasSamePictures(as old: Room) -> Bool {
        members == old.members && settings == old.settings && breakout == old.breakout
            && layoutChosenDuring == old.layoutChosenDuring
            && layoutsWithPresentingRules == old.layoutsWithPresentingRules && isSparing == old.isSparing
    }

    /// Whether a view of the room uses one of these layouts.
    func uses(_ layouts: Set<String>) -> Bool {
        let named = [settings.layout, settings.onPresent.layout].compactMap { $0 }
        let groups = breakout?.groups.compactMap(\.layout) ?? []
        return (named + groups + settings.views.values.compactMap(\.layout) + members.compactMap(\.choice?.layout))
            .contains(where: layouts.contains)
    }

    /// The choice that a member would have; nil: it would get its named view. Pins of nobody count as none.
    ///
    /// - Parameter layout: nil with `pins`: the layout that the member sees; nil without: no choice.
    func choice(_ layout: String?, pins: [String]?, by id: String) -> ViewChoice? {
        guard let member = member(id), layout != nil || pins != nil else { return nil }
        let pictures = pictures
        var kept: [String] = []
        for pin in pins ?? [] where self.member(pin) != nil && !kept.contains(pin) { kept.append(pin) }
        let choice = ViewChoice(layout: layout ?? pictures.shown(pictures.view(of: member)).name, pins: kept)
        // Clients know the named view by the layout that it shows, while somebody presents too.
        let named = pictures.layout(ofView: pictures.viewName(of: member), in: watched(by: member))
        let isNamed = choice.pins.isEmpty && choice.layout == named
        return isNamed ? nil : choice
    }

    /// Throws unless the room has this view.
    func requireView(_ name: String) throws(ConferenceError) {
        guard settings.hasView(name) else { throw .unknownView(name, known: settings.viewNames) }
    }
}
