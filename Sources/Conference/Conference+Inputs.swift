extension Conference {
    /// Pulls a source into a room, as a participant of its own. Returns at once: the source is opened meanwhile.
    @discardableResult
    package func addInput(_ wish: InputRequest, to room: String) throws(ConferenceError) -> InputInfo {
        try inputs.add(wish, to: room)
    }

    /// The inputs of a room, the oldest first, with those that ended lately.
    package func inputs(of room: String) throws(ConferenceError) -> [InputInfo] { try inputs.list(room) }
    package func input(_ id: String, in room: String) throws(ConferenceError) -> InputInfo {
        try inputs.input(id, in: room)
    }

    /// Ends an input: its participant leaves.
    package func removeInput(_ id: String, from room: String) throws(ConferenceError) {
        try inputs.remove(id, from: room)
    }
}
