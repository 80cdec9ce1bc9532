import Basics
import Dispatch
import Peer
import Threads

@testable import RoomMedia

/// The services of a room, with clocks that stand still until a test moves them.
final class StillServices: Sendable {
    let overload = OverloadState()
    let audio: AudioClock
    let video: VideoClock
    let media: MediaServices
    private let pool = WorkPool(threads: 1)
    /// Takes what the renditions deliver.
    let delivered = Guarded<[(key: RenditionKey, frame: PacketizedVideoFrame)]>([])
    /// How many times all peers were to choose again.
    let refreshes = Guarded(0)
    let counters = IntakeCounters()
    /// The time of the intakes and the renditions.
    private let time: Guarded<Instant>

    init() {
        let time = Guarded(MonotonicClock.now())
        self.time = time
        let meters = StageMeters()
        audio = AudioClock(name: "audio", meter: meters.audio, deliver: { _ in })
        video = VideoClock(overload: overload)
        media = MediaServices(
            pool: pool, meters: meters, overload: overload, audio: audio, video: video,
            decode: DecodeServices(
                pool: pool, meter: meters.decode, pixelsPerSecond: 1 << 30,
                shared: SharedDecodeBudget(pixelsPerSecond: 1 << 30, at: .zero), counters: counters,
                now: { time.withLock { $0 } }),
            deliver: { [delivered] key, frame, _, _ in delivered.withLock { $0.append((key, frame)) } },
            report: { _ in }, refresh: { [refreshes] _ in refreshes.withLock { $0 += 1 } })
        pool.start()
    }

    deinit { pool.stop() }

    var now: Instant { time.withLock { $0 } }

    /// Moves the clocks. Pictures are composed, decoded and encoded beside: the room is busy until then.
    func advance(to time: Instant) { self.time.withLock { $0 = max($0, time) } }

    /// Runs `body` while no picture can be composed or encoded: what it starts waits for its end.
    func withoutPictures(_ body: () -> Void) {
        let (held, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        SerialLane(pool: pool, meter: StageMeter("hold"), limit: 1).submit {
            held.signal()
            ended.wait()
        }
        held.wait()
        body()
        ended.signal()
    }

    /// The scene of an empty room.
    func room(
        _ id: String = "r", tilesChanged: @escaping @Sendable (ViewID, TilesInfo) -> Void = { _, _ in }
    ) -> RoomEngine {
        RoomEngine(
            id: id, scene: Scene(width: 320, height: 180, framesPerSecond: 30, views: [.main: Scene.View()]),
            rungs: RoomMediaConfiguration.Rung.standard, audio: RoomMediaConfiguration.Audio(), services: media,
            tilesChanged: tilesChanged, speakersChanged: { _, _ in })
    }
}
