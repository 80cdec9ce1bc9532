import Basics

/// When a participant that lost its server comes back, by the rules of the page (`retryDelay` in signalling-state.js).
/// The clients of a lost server have lost it at the same moment. Any part of the longest time is as likely as any other,
/// so that they do not come back at the same moment.
struct ReconnectPlan: Equatable {
    enum Reason: Equatable {
        case lost
        /// Another server has the room already.
        case moved
        /// The server asks to come later.
        case later(seconds: Int)
    }

    static let first = Duration.milliseconds(300)
    static let second = Duration.seconds(1)
    static let last = Duration.seconds(5)
    static let moved = Duration.milliseconds(500)
    /// The longest time that a server may ask for.
    static let mostSeconds = 60

    private(set) var failures = 0

    /// The time before the next attempt.
    ///
    /// - Parameter random: from 0 to 1.
    mutating func delay(_ reason: Reason, random: Double) -> Duration {
        defer { failures += 1 }
        switch reason {
        case .moved: return Self.moved * random
        case .later(let seconds): return .seconds(max(1, min(seconds, Self.mostSeconds))) * (1 + random)
        case .lost:
            guard failures > 0 else { return Self.first * random }
            return min(Self.second * (1 << min(failures - 1, 8)), Self.last) * random
        }
    }

    mutating func succeeded() { failures = 0 }
}
