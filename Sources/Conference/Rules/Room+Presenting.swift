import RoomMedia

extension Room {
    var isPresented: Bool { members.contains(where: \.isPresenting) }
    func isPresented(in group: GroupID) -> Bool { members.contains { $0.isPresenting && place(of: $0) == group } }

    func presentingLayout(in group: GroupID) -> PresentingLayout {
        let current = presenting(in: group).flatMap { number in settings.onPresent.layout.map { ($0, number) } }
        return PresentingLayout(current: current, withOwnRules: layoutsWithPresentingRules)
    }
}
