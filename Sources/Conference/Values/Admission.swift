/// Who is let into a room at once.
package enum Admission: String, Sendable, CaseIterable {
    case anyone
    /// Moderators; everyone else waits until a moderator decides.
    case moderator
}

/// One who waits to be let in, as moderators see it.
package struct WaitingPerson: Hashable, Sendable {
    package var id: String
    package var name: String
    /// The person, or another one of the same address, was removed from this meeting.
    package var wasRemoved = false
}

/// What an administrator decides about one who waits.
package enum WaitingDecision: String, Sendable, CaseIterable {
    case admit, refuse
    /// Refuses everybody who waits at the same address too, and whoever asks from there for ten minutes.
    case refuseAddress
}

/// How a wait ended.
package enum WaitingEnd: Hashable, Sendable {
    /// A moderator lets the client in: a join with the id of the wait as `JoinRequest.admission` gets a seat.
    case admitted
    case refused
    case timeout
    /// The client has gone.
    case left
    /// The room has ended.
    case ended(LeaveReason)
}
