import Basics
import RoomMedia
import Sockets
import Threads

/// The threads of all rooms' media: the network loops, the audio threads, the picture clock, and the pool that decodes,
/// composes and encodes.
final class MediaThreads: Sendable {
    let peers: PeerLoops
    let pool: WorkPool
    let audioClocks: [AudioClock]
    let videoClock: VideoClock
    let overload = OverloadState()
    let meters = StageMeters()
    private let decode: DecodeServices
    private let configuration: ConferenceConfiguration
    private let encodeFailed: @Sendable (String) -> Void

    /// Binds the media ports. No thread runs before `start`.
    ///
    /// - Parameter encodeFailed: takes the reason of a failed encode, on a thread of the pool.
    init(
        _ configuration: ConferenceConfiguration, events: PeerLoopEvents,
        encodeFailed: @escaping @Sendable (String) -> Void
    ) throws(ConferenceError) {
        self.configuration = configuration
        self.encodeFailed = encodeFailed
        var sockets = MediaLoopConfiguration(udp: configuration.media.udp, tcp: configuration.media.tcp)
        sockets.connections = configuration.limits.mediaConnections
        sockets.connectionsPerAddress = configuration.limits.mediaConnectionsPerAddress
        let peers: PeerLoops
        do {
            peers = try PeerLoops(
                sockets, loops: configuration.media.loops ?? Processors.available, events: events,
                meters: meters)
        } catch {
            throw .configuration("\(error)")
        }
        self.peers = peers
        pool = WorkPool(threads: configuration.workers)
        decode = DecodeServices(
            pool: pool, meter: meters.decode, pixelsPerSecond: configuration.limits.decodedPixelsPerSecond,
            shared: SharedDecodeBudget(
                pixelsPerSecond: configuration.limits.decodedPixelsPerSecondInAll, at: MonotonicClock.now()),
            counters: meters.intake)
        videoClock = VideoClock(overload: overload)
        let audioThreads = max(1, configuration.audioThreads ?? Self.audioThreads(cores: Processors.available))
        audioClocks = (0..<audioThreads).map { [meters] number in
            AudioClock(name: audioThreads > 1 ? "audio clock-\(number)" : "audio clock", meter: meters.audio) {
                peers.deliver($0)
            }
        }
    }

    /// The number of audio threads: one can mix the audio of as many participants as the video codecs on four cores can
    /// serve.
    private static func audioThreads(cores: Int) -> Int { (cores + 3) / 4 }

    func start() {
        pool.start()
        peers.start()
        for clock in audioClocks { clock.start() }
        videoClock.start()
    }

    func stop() {
        for clock in audioClocks { clock.stop() }
        videoClock.stop()
        peers.stop()
        pool.stop()
    }

    /// Makes the media of a new room, which stand still until a peer, a recording or a snapshot takes them. The audio
    /// thread with the fewest participants mixes the room's audio.
    func makeEngine(
        _ id: String, scene: Scene, tilesChanged: @escaping @Sendable (ViewID, TilesInfo) -> Void,
        speakersChanged: @escaping @Sendable (GroupID, Speakers) -> Void
    ) -> RoomEngine {
        let audio = audioClocks.min { $0.load < $1.load } ?? audioClocks[0]
        let services = MediaServices(
            pool: pool, meters: meters, overload: overload, audio: audio, video: videoClock, decode: decode,
            deliver: { [peers] key, frame, trace, loops in peers.deliver(key, frame, trace, to: loops) },
            report: encodeFailed,
            refresh: { [peers] room in peers.everywhere { $0.refresh(room, at: $1) } })
        return RoomEngine(
            id: id, scene: scene, rungs: configuration.video.renditions, audio: configuration.audio, services: services,
            tilesChanged: tilesChanged, speakersChanged: speakersChanged)
    }
}
