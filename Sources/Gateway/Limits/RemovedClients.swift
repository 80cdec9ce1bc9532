import Basics
import Conference

/// The clients that were removed from a call, for families whose apps come back by themselves and cannot be told to
/// stay away.
///
/// A value of bounded size: at the limit the client that tried the longest time ago is forgotten.
struct RemovedClients<Key: Hashable & Sendable>: Sendable {
    /// How long a client is refused after its removal and after each further try.
    static var stay: Duration { .seconds(600) }
    static var limit: Int { 1024 }

    private var until: [Key: Instant] = [:]

    var count: Int { until.count }

    mutating func add(_ key: Key, at now: Instant) {
        if until.count >= Self.limit {
            until = until.filter { $0.value > now }
            if until.count >= Self.limit, let oldest = until.min(by: { $0.value < $1.value }) {
                until[oldest.key] = nil
            }
        }
        until[key] = now + Self.stay
    }

    /// Whether the client is to be refused, which prolongs its stay outside.
    mutating func refuses(_ key: Key, at now: Instant) -> Bool {
        guard let end = until[key] else { return false }
        until[key] = end > now ? now + Self.stay : nil
        return end > now
    }
}

extension LeaveReason {
    /// Whether somebody ended the client's call, which an app that comes back by itself would not respect.
    var isDismissal: Bool { self == .removed || self == .roomEnded }
}
