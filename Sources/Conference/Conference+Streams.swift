extension Conference {
    /// Starts a stream of a room to another server; its connection is made in the background.
    @discardableResult
    package func startStream(_ room: String, _ request: StreamRequest) throws(ConferenceError) -> StreamInfo {
        try streamService.start(room, request)
    }

    /// Ends a stream. Returns when its connection is closed, after two seconds at the most.
    @discardableResult
    package func endStream(_ id: String, in room: String) async throws(ConferenceError) -> StreamInfo {
        try await streamService.end(id, in: room)
    }

    /// The streams of a room: those that run, and the latest that are over; the oldest first.
    package func streams(of room: String) throws(ConferenceError) -> [StreamInfo] { try streamService.list(room) }

    package func stream(_ id: String, in room: String) throws(ConferenceError) -> StreamInfo {
        try streamService.stream(id, in: room)
    }
}
