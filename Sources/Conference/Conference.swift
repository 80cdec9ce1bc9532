import Basics
import Foundation
import Logging
import Mixing
import Sockets
import Peer
import Recording
import RoomMedia
import Threads

/// A conference server without its doors: rooms, participants, their media, recordings.
///
/// Threads: the loop owns sockets and peers, the audio clock owns the mixes, the pool decodes, composes and encodes, the picture clock
/// only ticks, and the control thread does what follows from media and time and calls the doors. Rooms are values behind one lock
/// that is never held while anything waits.
public final class Conference: Sendable {
    public let configuration: ConferenceConfiguration
    let logger: Logger
    let loop: MediaLoop
    let layoutLibrary: LayoutLibrary
    let recordingControl: RecordingControl
    let identity: DTLSIdentity
    let candidates: [Candidate]
    /// Unix time minus monotonic time, once for all: sender reports of all peers then agree for ever.
    let wallClockOffset: Duration
    let overload = OverloadState()
    let meters = StageMeters()
    let pool: WorkPool
    let videoClock: VideoClock
    let audioClock: AudioClock
    let control = ControlThread()
    let host: PeerHost
    let figures = Figures()

    struct State {
        var rooms: [String: RoomSlot] = [:]
        var seats: [String: Seat] = [:]
        var capacity: Capacity
        var refusals = Refusals()
        var isDraining = false
    }
    let state: Guarded<State>
    let events = EventCounters()
    let snapshots: Snapshots
    let descriptions = DescriptionReader()
    private let decode: DecodeServices
    /// Closed before the loop stops: what is handed to it until then is run, so nobody waits for ever.
    private let loopGate = Guarded(false)
    private let relay: Relay

    /// Lets the clocks and lanes, which exist before the conference, reach it.
    final class Relay: Sendable {
        let conference = Guarded<WeakConference>(WeakConference())
        struct WeakConference: Sendable { weak var value: Conference? }
        var current: Conference? { conference.withLock { $0.value } }
    }

    /// Binds the media ports and reads the layouts. Nothing runs before `start`.
    public convenience init(_ configuration: ConferenceConfiguration, logger: Logger) throws(ConferenceError) {
        try self.init(configuration, logger: logger, disk: .system, diskPatience: .seconds(5))
    }

    /// `disk`: of the recordings; tests have one that stands still. `diskPatience`: how long a start waits for it.
    init(
        _ configuration: ConferenceConfiguration, logger: Logger, disk: RecordingDisk, diskPatience: Duration
    ) throws(ConferenceError) {
        self.configuration = configuration
        recordingControl = RecordingControl(configuration.recording, disk: disk, patience: diskPatience, logger: logger)
        self.logger = logger
        state = Guarded(State(capacity: Capacity(configuration.limits)))
        do {
            var sockets = MediaLoopConfiguration(udp: configuration.media.udp, tcp: configuration.media.tcp)
            sockets.connections = configuration.limits.mediaConnections
            sockets.connectionsPerAddress = configuration.limits.mediaConnectionsPerAddress
            loop = try MediaLoop(sockets)
            identity = try DTLSIdentity.generate()
        } catch {
            throw .configuration("\(error)")
        }
        candidates = HostAddresses.candidates(
            announce: configuration.media.announce, udp: loop.boundUDP, tcp: loop.boundTCP)
        wallClockOffset = .seconds(Date().timeIntervalSince1970) - (MonotonicClock.now() - .zero)
        layoutLibrary = LayoutLibrary(directory: configuration.layoutsDirectory)
        pool = WorkPool(threads: configuration.workers)
        decode = DecodeServices(
            pool: pool, meter: meters.decode, pixelsPerSecond: configuration.limits.decodedPixelsPerSecond,
            shared: SharedDecodeBudget(
                pixelsPerSecond: configuration.limits.decodedPixelsPerSecondInAll, at: MonotonicClock.now()),
            counters: meters.intake)
        snapshots = Snapshots(pool: pool, meter: meters.snapshot)
        videoClock = VideoClock(overload: overload)
        let relay = Relay()
        self.relay = relay
        audioClock = AudioClock(meter: meters.audio) { sound in
            relay.current?.onLoop { $0.deliver(sound, at: $1) }
        }
        host = PeerHost(loop: loop, events: Self.hostEvents(relay), meters: meters)
        relay.conference.withLock { $0.value = self }
        for fault in layoutLibrary.poll().faults { logger.warning("\(fault)") }
        guard layoutLibrary[configuration.rooms.settings.layout] != nil else {
            throw .unknownLayout(configuration.rooms.settings.layout)
        }
    }

    /// What was really bound.
    public var mediaUDP: [SocketAddress] { loop.boundUDP }
    public var mediaTCP: [SocketAddress] { loop.boundTCP }

    /// The loop works for a tenth of a millisecond at a time, and everything waits for it. Beside busy encoders, and other programs, it
    /// waited for a processor 1.6 ms each time with 16 people on two of them, at worst so long that sound came late.
    private static let networkNiceness: Int32 = -10

    /// Starts the threads. What a crash left open of recordings is closed beside the calls.
    public func start() throws(ConferenceError) {
        SystemMemory.mapPictures()
        pool.start()
        loop.start(niceness: Self.networkNiceness, delegate: host)
        audioClock.start()
        videoClock.start()
        control.start { [weak self] now in self?.keepHouse(at: now) }
        recordingControl.open()
    }

    public var isDraining: Bool { state.withLock { $0.isDraining } }
    /// No new rooms are taken.
    public var isOverloaded: Bool { overload.refusesRooms }

    // MARK: - The loop

    /// Runs `body` on the loop. Returns whether it will be run: not after the end.
    @discardableResult
    func onLoop(_ body: @escaping @Sendable (PeerHost, Instant) -> Void) -> Bool {
        loopGate.withLock { isClosed in
            if isClosed { return false }
            loop.execute { [host] in body(host, MonotonicClock.now()) }
            return true
        }
    }

    /// Runs `body` on the loop and waits for what it gives.
    func fromLoop<Value: Sendable>(
        _ body: @escaping @Sendable (PeerHost, Instant) -> Result<Value, ConferenceError>
    ) async throws(ConferenceError) -> Value {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, ConferenceError>, Never>) in
            let isTaken = onLoop { host, now in continuation.resume(returning: body(host, now)) }
            if !isTaken { continuation.resume(returning: .failure(.draining)) }
        }
        return try result.get()
    }

    // MARK: - The end

    /// No joins, recordings closed, peers told, threads ended; returns at the latest after `limit`.
    public func drain(within limit: Duration) async {
        let wasDraining = state.withLock { state in
            defer { state.isDraining = true }
            return state.isDraining
        }
        if wasDraining { return }
        recordingControl.stopRepairs()
        let running = state.withLock { $0.rooms.values.compactMap(\.recording) }
        // Whichever is first: a disk that hangs must not keep the server from going down.
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let once = Once(continuation)
            Task {
                await withTaskGroup(of: Void.self) { stops in
                    for recording in running { stops.addTask { [self] in _ = try? await stopRecording(recording.id) } }
                }
                once.resume(())
            }
            Task {
                try? await Task.sleep(for: limit)
                once.resume(())
            }
        }
        let rooms = state.withLock { Array($0.rooms.keys) }
        for room in rooms { end(room, reason: .draining) }
        // The doors hear of it before the control thread ends; the peers' goodbyes leave with the loop's last turn.
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            control.post { done.resume() }
        }
        control.stop()
        audioClock.stop()
        videoClock.stop()
        loopGate.withLock { $0 = true }
        loop.stop()
        pool.stop()
    }

    // MARK: - What media tells

    private static func hostEvents(_ relay: Relay) -> HostEvents {
        HostEvents(
            media: { id, isConnected, since in
                relay.current?.control.post { relay.current?.mediaChanged(id, isConnected, since: since) }
            },
            ended: { id, reason, why in
                relay.current?.control.post { relay.current?.mediaEnded(id, LeaveReason(reason), why) }
            },
            line: { id, line in
                relay.current?.control.post(.line(id)) { relay.current?.tell(id, .line(line)) }
            },
            relayed: { room, message in
                relay.current?.control.postIfRoom { relay.current?.relayed(message, in: room) }
            })
    }

    func mediaServices() -> MediaServices {
        let relay = relay
        return MediaServices(
            pool: pool, meters: meters, overload: overload, audio: audioClock, video: videoClock, decode: decode,
            deliver: { key, frame, trace in relay.current?.onLoop { $0.deliver(key, frame, trace, at: $1) } },
            report: { text in relay.current?.figures.encodeFailed(text, relay.current?.logger) })
    }
}
