package import Basics

/// The rate at which one client's messages are read. A client above it is not refused but read later: its own socket
/// holds back the rest.
package struct MessageRateLimiter: Sendable {
    /// Messages a second and at once. A call begins with an answer and 20 candidates for each interface.
    private static let (messageRate, messageBurst) = (50.0, 200.0)
    /// Bytes a second and at once: an offer or an answer every second.
    private static let (byteRate, byteBurst) = (65_536.0, 524_288.0)

    private var messages: TokenBucket
    private var bytes: TokenBucket

    package init(at now: Instant) {
        messages = TokenBucket(rate: Self.messageRate, size: Self.messageBurst, at: now)
        bytes = TokenBucket(rate: Self.byteRate, size: Self.byteBurst, at: now)
    }

    /// Counts a message and returns how long to wait before the next one is read.
    package mutating func pause(after count: Int, at now: Instant) -> Duration {
        messages.spend(1, at: now)
        bytes.spend(Double(count), at: now)
        return max(messages.wait(for: 1, at: now), bytes.wait(for: 1, at: now))
    }
}
