import RoomMedia

/// Who sees the other alone in a call of two: of a room, or of a breakout group.
///
/// In the common picture of two people each has a quarter of the canvas or a little more, and sees itself twice: there,
/// and in the client's own view of its camera. So each of the two gets the picture of its view without itself, which the
/// other one fills. Everyone else (viewers, recordings, streams, snapshots) gets the common picture, as the two do while
/// somebody presents, while they have chosen a picture of their own, and while the server is busy.
struct CallOfTwo {
    /// The layout of a view whose picture is made so.
    static let layout = "grid"

    private let people: Set<String>

    init(_ room: Room, in group: GroupID) {
        let shown = room.members.filter { $0.isShown && room.place(of: $0) == group }
        let isCall = shown.count == 2 && !shown.contains(where: \.isInput) && shown.contains(where: \.sendsVideo)
        let hasOwnPictures = room.settings.withoutSelf && !room.isSparing && !room.isPresented(in: group)
        people = isCall && hasOwnPictures ? Set(shown.map(\.id)) : []
    }

    /// The view of a participant, or of a viewer that stands for it, whose named view is this.
    func view(_ view: ViewID, layout: String, for participant: String) -> ViewID {
        layout == Self.layout && people.contains(participant) ? view.without(participant) : view
    }
}

extension Room {
    /// Whether the room, or a group of it, may have a call of two.
    var mayBeCallOfTwo: Bool { !openGroups.isEmpty || members.count(where: \.isShown) == 2 }
}
