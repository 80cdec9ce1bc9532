import Basics

/// Decides when a room announces its members: at once when the last announcement is older than `interval`, otherwise
/// when that has passed, with all changes until then. A value; time is an argument.
struct RosterAnnouncer: Sendable {
    /// Four announcements a second. Viewers notice no delay of the speaker's mark, and a client that switches something
    /// a thousand times a second costs no more than one that does so four times.
    static let interval = Duration.milliseconds(250)

    /// What the room has to do after a change.
    enum Step: Hashable, Sendable {
        case announce(RosterUpdate)
        /// Call `announcement(of:at:)` at that time.
        case wait(until: Instant)
        /// Nothing is new, or an announcement is scheduled already.
        case nothing
    }

    private var everyone: [ParticipantInfo] = []
    private var roster = Roster()
    private var number = 0
    private var last: Instant?
    private var isWaiting = false

    /// Takes a change of the members. `current` returns them and is called only when needed.
    mutating func changed(_ current: () -> [ParticipantInfo], at now: Instant) -> Step {
        if isWaiting { return .nothing }
        if let last, now - last < Self.interval {
            isWaiting = true
            return .wait(until: last + Self.interval)
        }
        return update(current(), at: now).map { .announce($0) } ?? .nothing
    }

    /// The announcement that `wait` scheduled; nil where it is too early, or nothing differs from the last one.
    mutating func announcement(of current: () -> [ParticipantInfo], at now: Instant) -> RosterUpdate? {
        guard isWaiting, let last, now - last >= Self.interval else { return nil }
        isWaiting = false
        return update(current(), at: now)
    }

    private mutating func update(_ current: [ParticipantInfo], at now: Instant) -> RosterUpdate? {
        guard current != everyone else { return nil }
        everyone = current
        let change = roster.change(to: current)
        let before = roster
        roster.apply(change)
        number += 1
        last = now
        return RosterUpdate(
            number: number, everyone: current, roster: roster, change: change, isVisible: roster != before)
    }
}
