extension Conference {
    /// The breakout groups of a room; nil: there are none.
    package func breakout(of room: String) throws(ConferenceError) -> BreakoutInfo? { try breakouts.info(of: room) }

    /// Performs requests about breakout groups for an administrator, or throws and performs none.
    package func breakOut(_ requests: [BreakoutRequest], in room: String) throws(ConferenceError) {
        try breakouts.perform(requests, in: room)
    }
}
