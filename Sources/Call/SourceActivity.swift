import Basics
import Synchronization

/// What the source of a `tessera call` gives, for the state that its participants tell: a file may end for good or be
/// damaged. Written by the source's thread.
final class SourceActivity: Sendable {
    /// Whether audio and video are sent.
    struct Sent: Equatable, Sendable {
        var audio: Bool
        var video: Bool
    }

    /// A source that gives nothing for longer sends nothing; a file at one frame a second sends.
    static let limit = Duration.seconds(3)
    private let audio = Atomic<Int64>(.min), video = Atomic<Int64>(.min)

    func start(hasVideo: Bool, at now: Instant) {
        gaveAudio(at: now)
        if hasVideo { gaveVideo(at: now) }
    }

    func gaveAudio(at now: Instant) { audio.store(now.nanoseconds, ordering: .relaxed) }
    func gaveVideo(at now: Instant) { video.store(now.nanoseconds, ordering: .relaxed) }

    func sent(at now: Instant) -> Sent {
        func isRecent(_ last: Int64) -> Bool { last > now.nanoseconds - Self.limit.nanoseconds }
        return Sent(audio: isRecent(audio.load(ordering: .relaxed)), video: isRecent(video.load(ordering: .relaxed)))
    }
}
