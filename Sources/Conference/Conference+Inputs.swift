extension Conference {
    /// Pulls a source into a room, as a participant of its own. Returns at once: the source is opened meanwhile.
    @discardableResult
    public func addInput(_ wish: InputWish, to room: String) throws(ConferenceError) -> InputInfo {
        try inputs.add(wish, to: room)
    }

    /// The inputs of a room, the oldest first, with those that ended lately.
    public func inputs(of room: String) throws(ConferenceError) -> [InputInfo] { try inputs.list(room) }
    public func input(_ id: String, in room: String) throws(ConferenceError) -> InputInfo {
        try inputs.input(id, in: room)
    }

    /// Ends an input: its participant leaves.
    public func removeInput(_ id: String, from room: String) throws(ConferenceError) {
        try inputs.remove(id, from: room)
    }
}
