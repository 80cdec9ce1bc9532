import Basics
import Synchronization

/// The delays of one participant's audio from capture to playout (written by the audio thread, read by the compose
/// lanes) and of its pictures from capture to display (the other way round).
final class AudioDelay: Sendable {
    private let delay = Atomic<Int64>(0)
    private let updatedAt = Atomic<Int64>(.min)

    /// `captureTime` is that of the first sample played at `now`.
    func playing(_ captureTime: Instant, at now: Instant) {
        delay.store((now - captureTime).nanoseconds, ordering: .relaxed)
        updatedAt.store(now.nanoseconds, ordering: .relaxed)
    }

    /// The audio's delay; nil when none was played in the last 500 ms.
    func current(at now: Instant) -> Duration? {
        let at = updatedAt.load(ordering: .relaxed)
        guard at != .min, now.nanoseconds &- at < 500_000_000 else { return nil }
        return .nanoseconds(delay.load(ordering: .relaxed))
    }

    // MARK: - Pictures

    private let wait = Guarded(LipSyncDelay())
    private let picture = Atomic<Int64>(0)
    private let pictureAt = Atomic<Int64>(.min)

    /// `now` is the first tick that could show the picture of `captureTime`, whether it was held back for the audio or
    /// not.
    func recordPicture(of captureTime: Instant, arrival: Instant, isRepaired: Bool, couldBeShownAt now: Instant) {
        let delay = wait.withLock { wait in
            wait.recordPicture(of: captureTime, arrival: arrival, isRepaired: isRepaired, couldBeShownAt: now)
            return wait.delay
        }
        picture.store(delay.nanoseconds, ordering: .relaxed)
        pictureAt.store(now.nanoseconds, ordering: .relaxed)
    }

    /// How long after their capture pictures can be shown; nil when none came in the last 500 ms.
    func pictureDelay(at now: Instant) -> Duration? {
        let at = pictureAt.load(ordering: .relaxed)
        guard at != .min, now.nanoseconds &- at < LipSyncDelay.silence.nanoseconds else { return nil }
        return .nanoseconds(picture.load(ordering: .relaxed))
    }
}
