import Basics

/// What the peer is to send at most, and when it is told so again (REMB is a state that is repeated).
struct ReceiveLimit: Sendable {
    static let interval: Duration = .seconds(1)

    private(set) var rate: BitRate
    /// When the peer is to be told; nil before the connection stands.
    private(set) var deadline: Instant?

    init(_ rate: BitRate) {
        self.rate = rate
    }

    /// The connection stands.
    mutating func start(at now: Instant) { deadline = now }

    /// Sets another limit, of which the peer is to be told at once; false when it is the same.
    mutating func set(_ rate: BitRate, at now: Instant) -> Bool {
        guard rate != self.rate else { return false }
        self.rate = rate
        if deadline != nil { deadline = now }
        return true
    }

    /// Whether the peer is to be told now.
    mutating func take(at now: Instant) -> Bool {
        guard let deadline, now >= deadline else { return false }
        self.deadline = now + Self.interval
        return true
    }
}
