import Basics
import RoomMedia
import Threads

/// The threads that all rooms' media share: the network loop, the two clocks, and the pool that decodes, composes and encodes.
final class MediaThreads: Sendable {
    let peers: PeerLoop
    let pool: WorkPool
    let audioClock: AudioClock
    let videoClock: VideoClock
    let overload = OverloadState()
    let meters = StageMeters()
    private let decode: DecodeServices
    private let configuration: ConferenceConfiguration
    private let encodeFailed: @Sendable (String) -> Void

    /// Binds the media ports. Nothing runs before `start`.
    ///
    /// - Parameter encodeFailed: is told why a frame could not be made, on a thread of the pool.
    init(
        _ configuration: ConferenceConfiguration, events: HostEvents, encodeFailed: @escaping @Sendable (String) -> Void
    ) throws(ConferenceError) {
        self.configuration = configuration
        self.encodeFailed = encodeFailed
        let peers = try PeerLoop(configuration, events: events, meters: meters)
        self.peers = peers
        pool = WorkPool(threads: configuration.workers)
        decode = DecodeServices(
            pool: pool, meter: meters.decode, pixelsPerSecond: configuration.limits.decodedPixelsPerSecond,
            shared: SharedDecodeBudget(
                pixelsPerSecond: configuration.limits.decodedPixelsPerSecondInAll, at: MonotonicClock.now()),
            counters: meters.intake)
        videoClock = VideoClock(overload: overload)
        audioClock = AudioClock(meter: meters.audio) { sound in peers.run { $0.deliver(sound, at: $1) } }
    }

    func start() {
        pool.start()
        peers.start()
        audioClock.start()
        videoClock.start()
    }

    func stop() {
        audioClock.stop()
        videoClock.stop()
        peers.stop()
        pool.stop()
    }

    /// The media of a new room; it stands still until somebody takes something of it.
    func makeEngine(
        _ id: String, scene: Scene, tilesChanged: @escaping @Sendable (ViewID, TilesInfo) -> Void,
        speakersChanged: @escaping @Sendable (Speakers) -> Void
    ) -> RoomEngine {
        let services = MediaServices(
            pool: pool, meters: meters, overload: overload, audio: audioClock, video: videoClock, decode: decode,
            deliver: { [peers] key, frame, trace in peers.run { $0.deliver(key, frame, trace, at: $1) } }, report: encodeFailed)
        return RoomEngine(
            id: id, scene: scene, rungs: configuration.video.renditions, audio: configuration.audio, services: services,
            tilesChanged: tilesChanged, speakersChanged: speakersChanged)
    }
}
