extension RoomRecord {
    /// Inputs that are over stay in the list, so that one can read why; the latest so many of them.
    static let inputsKept = 8

    /// Ends the outputs.inputs of those participants. Returns the events that follow.
    mutating func endInputs(of isGone: (String) -> Bool = { _ in true }) -> [ServerEvent.Happening] {
        if outputs.inputs.isEmpty { return [] }
        let ended = outputs.inputs.filter { isGone($0.participant) && $0.end() }
        let over = outputs.inputs.filter(\.isOver)
        if over.count > Self.inputsKept {
            let forgotten = Set(over.prefix(over.count - Self.inputsKept).map(\.id))
            outputs.inputs.removeAll { forgotten.contains($0.id) }
        }
        return ended.map { .inputEnded($0.info) }
    }
}
