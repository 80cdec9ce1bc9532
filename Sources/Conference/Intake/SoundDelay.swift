import Basics
import Synchronization

/// How long after its capture a participant's sound is played: written by the audio thread, read by the picture clock.
final class SoundDelay: Sendable {
    private let delay = Atomic<Int64>(0)
    private let updatedAt = Atomic<Int64>(.min)

    /// `captureTime` is that of the first sample played at `now`.
    func playing(_ captureTime: Instant, at now: Instant) {
        delay.store((now - captureTime).nanoseconds, ordering: .relaxed)
        updatedAt.store(now.nanoseconds, ordering: .relaxed)
    }

    /// nil when nothing was played lately.
    func current(at now: Instant) -> Duration? {
        let at = updatedAt.load(ordering: .relaxed)
        guard at != .min, now.nanoseconds &- at < 500_000_000 else { return nil }
        return .nanoseconds(delay.load(ordering: .relaxed))
    }
}
