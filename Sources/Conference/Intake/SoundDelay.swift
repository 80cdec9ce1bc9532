import Basics
import Synchronization

/// How long after its capture a participant's sound is played (written by the audio thread, read by the picture clock), and how long
/// its pictures take (the other way round).
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

    // MARK: - Pictures

    private let picture = Atomic<Int64>(0)
    private let pictureAt = Atomic<Int64>(.min)
    /// The measure follows a slow picture at once and forgets it at this share of the way a picture.
    private static let forgetting: Int64 = 64

    /// A picture of `captureTime` is ready to be shown at `now`. From the decoder's lane only.
    func pictureReady(_ captureTime: Instant, at now: Instant) {
        let delay = (now - captureTime).nanoseconds
        let old = picture.load(ordering: .relaxed)
        picture.store(delay > old ? delay : old - (old - delay) / Self.forgetting, ordering: .relaxed)
        pictureAt.store(now.nanoseconds, ordering: .relaxed)
    }

    /// How long after their capture pictures can be shown; nil when none came lately.
    func pictureDelay(at now: Instant) -> Duration? {
        let at = pictureAt.load(ordering: .relaxed)
        guard at != .min, now.nanoseconds &- at < 500_000_000 else { return nil }
        return .nanoseconds(picture.load(ordering: .relaxed))
    }
}
