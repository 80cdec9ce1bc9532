import Basics
import FoundationEssentials

/// An event that waits for a webhook.
struct WebhookEvent: Sendable, Equatable {
    /// The event's id, `webhook-id` of each attempt.
    var id: String
    /// When it happened, in milliseconds since 1970.
    var time: Int64
    /// Whether it is the first kind to be dropped where too many events wait: a later one has the same participant's
    /// newer state.
    var isReplaceable: Bool
    /// Its JSON, which is the body.
    var body: [UInt8]
}

/// A moment on both clocks: the monotonic one times attempts, the wall clock has the age of events, which outlive the
/// process.
struct WebhookTime: Sendable {
    var now: Instant
    /// Milliseconds since 1970.
    var wall: Int64

    func later(_ duration: Duration) -> WebhookTime {
        WebhookTime(now: now + duration, wall: wall + duration.nanoseconds / 1_000_000)
    }
}
