import Basics
import Recording
import RoomMedia

/// The pre-roll of one room: a tap of the recorded view, which a recording takes over when it starts.
///
/// It runs while somebody is in the room and nothing is recorded. What a recording has taken, and what was said while
/// it was paused, is never kept.
final class RoomPreRoll: Sendable {
    let view: ViewID
    let length: Duration
    private let format: ViewFormat
    private let media: PreRoll
    private let tap = Guarded<RoomTap?>(nil)
    private let engine: RoomEngine

    /// The tap's name; a recording that takes over keeps it.
    private let name: String

    /// - Parameter number: differs from that of the room's earlier ones.
    init(of settings: RoomSettings, number: Int, length: Duration, memory: RecordingMemory, engine: RoomEngine) {
        view = settings.recordedView
        format = settings.format(ofView: view.name)
        name = "pre-roll-\(number)"
        self.length = length
        self.engine = engine
        media = PreRoll(length: length, memory: memory) { [tap] in
            tap.withLock { $0 }?.requestKeyframe(isUrgent: false)
        }
    }

    /// Whether it has the picture that recordings take now.
    func fits(_ settings: RoomSettings) -> Bool {
        settings.recordedView == view && settings.format(ofView: view.name) == format
    }

    /// Begins, where it has not begun yet. The engine's scene uses the view already.
    func attach() {
        if tap.withLock({ $0 }) != nil { return }
        let taken = engine.tap(
            name, view, video: { [media] in media.append($0) },
            audio: { [media] in media.append(audio: $0, timestamp: $1) })
        tap.withLock { $0 = taken }
    }

    /// Passes what is kept, and all later media, to a recording. Returns the tap, and the length of what was kept;
    /// nil where it has not begun.
    func hand(to recorder: MP4Recorder, at now: Instant) -> (tap: RoomTap, length: Duration)? {
        tap.withLock { $0 }.map { ($0, media.hand(to: recorder, at: now)) }
    }

    /// Forgets everything.
    func end() {
        media.end()
        tap.withLock { $0 }?.end()
    }
}
