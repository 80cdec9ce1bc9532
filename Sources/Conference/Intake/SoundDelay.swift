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
    private let recent = Mutex<[Int64]>([])
    /// The middle one of the last second's pictures: the sound waits for what is usual. A stall of a quarter of a second must not hold
    /// back the sound, and with it the pictures that are on time again.
    private static let window = 32
    /// So few tell enough to begin with.
    private static let fewest = 4

    /// `now` is the first tick that could show the picture of `captureTime`, whether it was held back for the sound or not.
    func picture(of captureTime: Instant, couldBeShownAt now: Instant) {
        let isFresh = pictureDelay(at: now) == nil
        let usual: Int64 = recent.withLock { recent in
            if isFresh { recent.removeAll(keepingCapacity: true) }
            if recent.count >= Self.window { recent.removeFirst() }
            recent.append((now - captureTime).nanoseconds)
            return recent.count < Self.fewest ? 0 : recent.sorted()[recent.count / 2]
        }
        picture.store(usual, ordering: .relaxed)
        pictureAt.store(now.nanoseconds, ordering: .relaxed)
    }

    /// How long after their capture pictures can be shown; nil when none came lately.
    func pictureDelay(at now: Instant) -> Duration? {
        let at = pictureAt.load(ordering: .relaxed)
        guard at != .min, now.nanoseconds &- at < 500_000_000 else { return nil }
        return .nanoseconds(picture.load(ordering: .relaxed))
    }
}
