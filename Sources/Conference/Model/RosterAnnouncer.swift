import Basics

/// Decides when a room announces who is in it: at once when nothing was announced for `interval`, otherwise as soon as
/// that has passed, with everything that changed meanwhile. A value: time comes in as an argument.
struct RosterAnnouncer: Sendable {
    /// Four announcements a second. Who follows who speaks sees no delay in that, and whoever switches something on and
    /// off a thousand times costs no more than one who does so four times.
    static let interval = Duration.milliseconds(250)

    /// What is to be done about a change.
    enum Step: Hashable, Sendable {
        case announce(RosterUpdate)
        /// Ask `announcement(of:at:)` at that time.
        case wait(until: Instant)
        /// Nothing is new, or somebody will ask already.
        case nothing
    }

    private var everyone: [ParticipantInfo] = []
    private var roster = Roster()
    private var number = 0
    private var last: Instant?
    private var isWaiting = false

    /// The members changed. `current` gives who is in the room; it is asked for only where the answer counts.
    mutating func changed(_ current: () -> [ParticipantInfo], at now: Instant) -> Step {
        if isWaiting { return .nothing }
        if let last, now - last < Self.interval {
            isWaiting = true
            return .wait(until: last + Self.interval)
        }
        return update(current(), at: now).map { .announce($0) } ?? .nothing
    }

    /// What `wait` was for. Nil where it is too early, or where all is as it was announced last.
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
