import Basics

/// The limit on what the peer sends, and when it is due to be announced to the peer again (REMB is a state that is
/// repeated).
struct ReceiveLimit: Sendable {
    static let interval: Duration = .seconds(1)

    private(set) var rate: BitRate
    /// When the announcement is due; nil before the connection is established.
    private(set) var deadline: Instant?

    init(_ rate: BitRate) {
        self.rate = rate
    }

    /// Starts the announcements: the connection is established.
    mutating func start(at now: Instant) { deadline = now }

    /// Sets another limit, which is then due to be announced at once; false when it is the same.
    mutating func set(_ rate: BitRate, at now: Instant) -> Bool {
        guard rate != self.rate else { return false }
        self.rate = rate
        if deadline != nil { deadline = now }
        return true
    }

    /// Whether an announcement is due; if so, it counts as made.
    mutating func take(at now: Instant) -> Bool {
        guard let deadline, now >= deadline else { return false }
        self.deadline = now + Self.interval
        return true
    }
}
