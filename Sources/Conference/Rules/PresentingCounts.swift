import RoomMedia

/// Counts who begins to present and who chooses the room's layout, so that a choice of before a presenting is told from
/// one that was made during it. A value.
struct PresentingCounts: Sendable {
    private var begun = 0
    /// The number of the latest presenting of each group: the time since somebody began while nobody else of it did.
    private var latest: [GroupID: Int] = [:]
    private var orders = 0
    /// The number of the presenting during which the room's layout was chosen; nil: nobody presented.
    private(set) var layoutChosenDuring: Int?
    /// The member that has chosen the room's layout last; nil: it was chosen from outside.
    private var layoutChosenBy: String?
    private var layoutChoices = 0

    /// Somebody of a group begins while nobody else of it presents.
    mutating func begin(in group: GroupID) {
        begun += 1
        latest[group] = begun
    }

    /// The number of a group's present or last presenting.
    func number(in group: GroupID) -> Int { latest[group] ?? 0 }

    /// The place of a presenter among all who ever began.
    mutating func nextOrder() -> Int {
        orders += 1
        return orders
    }

    /// A layout is chosen by a member; nil: it comes from outside.
    mutating func choose(by id: String?) {
        layoutChosenBy = id
        layoutChoices += 1
    }

    /// The layout is the room's.
    ///
    /// - Parameter presenting: the number of the presenting meanwhile; nil: nobody presents.
    mutating func choose(during presenting: Int?) { layoutChosenDuring = presenting }

    /// The member that has chosen the room's layout since `old`; nil: nobody did.
    func chooser(since old: PresentingCounts) -> String? { layoutChoices == old.layoutChoices ? nil : layoutChosenBy }
}
