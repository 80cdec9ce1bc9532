public import Basics
import Codecs
public import Peer
public import Sockets
import Synchronization
import Threads

/// Many headless participants on one thread and one source: what each sends is encoded once, so that twenty cost little
/// more than one.
public final class Fleet: Sendable {
    /// What became of one participant's media.
    public enum Event: Sendable {
        case connected
        case video(ReceivedVideoFrame)
        case audio(ReceivedAudioPacket)
        case ended(String)
    }

    let loop: MediaLoop
    private let wantsKeyframe = Atomic(false)
    private let isStopped = Atomic(false)
    private let core: FleetBox
    private let local: IPAddress
    /// Sockets of participants by number, and those whose participants are gone.
    private let sockets = Guarded<(taken: [Int: SocketAddress], free: [SocketAddress])>(([:], []))

    /// - Parameter local: the address that the participants' sockets are bound to, each as its participant comes.
    public init(local: IPAddress) throws(NetworkError) {
        self.local = local
        loop = try MediaLoop(MediaLoopConfiguration())
        core = FleetBox(FleetCore(loop: loop))
    }

    /// Where the socket of a participant is bound; nil before its offer.
    public func address(of number: Int) -> SocketAddress? { sockets.withLock { $0.taken[number] } }

    /// A socket for a participant who may come at any time: one that another has left, or a new one.
    private func bind(_ number: Int) throws(NetworkError) -> SocketAddress {
        try sockets.withLock { sockets throws(NetworkError) in
            if let address = sockets.taken[number] { return address }
            let address =
                if let free = sockets.free.popLast() { free } else { try loop.bindUDP(SocketAddress(local, port: 0)) }
            sockets.taken[number] = address
            return address
        }
    }

    /// Starts the network thread and the source's thread.
    public func start(options: CallOptions) throws {
        let videoFile = options.video, audioFile = options.audio
        let codec = options.codec
        let seed = options.name.utf8.reduce(0) { $0 &* 31 &+ Int($1) } & 0xFFFF
        // Faulty files are told here, before anything runs.
        let sources = SourceBox(
            video: try makeVideoSource(file: videoFile, codec: codec, seed: seed),
            audio: try makeAudioSource(file: audioFile, video: videoFile, seed: seed))
        start(sources)
    }

    /// The same with coded media from memory, in a loop, which costs nothing: a benchmark's.
    ///
    /// - Parameters:
    ///   - frames: begins with a keyframe; none: the participants have no camera on.
    ///   - audio: Opus packets of 20 ms.
    ///   - delay: between a tick of sound and the first frame, so that fleets differ as cameras do.
    public func start(
        frames: [EncodedVideoFrame], framesPerSecond: Double, audio: [[UInt8]], delay: Duration = .zero
    ) throws(CallError) {
        let video = PassthroughVideoSource(frames: frames, framesPerSecond: framesPerSecond)
        guard video != nil || frames.isEmpty, !audio.isEmpty else {
            throw CallError("a fleet's frames must begin with a keyframe, and it needs audio")
        }
        start(SourceBox(video: video, audio: LoopedAudioSource(packets: audio)), delay: delay)
    }

    private func start(_ sources: SourceBox, delay: Duration = .zero) {
        loop.start(named: "call", delegate: core.value)
        DedicatedThread.start("call-source") { [self] in run(sources, delay) }
    }

    /// Ends both threads; the connections say goodbye first.
    public func stop() {
        isStopped.store(true, ordering: .relaxed)
        loop.execute { [core] in core.value.closeAll(at: MonotonicClock.now()) }
        loop.stop()
    }

    /// Makes the connection of participant `number` and returns its offer: `codec` first, or `only` it.
    public func offer(
        _ number: Int, codec: VideoCodec, only: Bool = false, onEvent: @escaping @Sendable (Event) -> Void
    ) async throws -> String {
        let address = try bind(number)
        return try await onLoop { core in
            try core.addLeg(number, at: address, codec: codec, only: only, onEvent: onEvent)
        }
    }

    /// Takes the server's answer to the offer of participant `number`.
    public func accept(answer: String, for number: Int) async throws {
        try await onLoop { core in try core.accept(answer, for: number) }
    }

    /// What participant `number` has sent and received so far.
    public func statistics(_ number: Int) async -> PeerStatistics? {
        try? await onLoop { core in core.statistics(number) }
    }

    /// Ends participant `number`.
    public func close(_ number: Int) {
        loop.execute { [core, sockets] in
            core.value.close(number, at: MonotonicClock.now())
            sockets.withLock { sockets in
                if let address = sockets.taken.removeValue(forKey: number) { sockets.free.append(address) }
            }
        }
    }

    private func onLoop<Value: Sendable>(_ body: @escaping @Sendable (FleetCore) throws -> Value) async throws -> Value
    {
        try await withCheckedThrowingContinuation { continuation in
            loop.execute { [core] in continuation.resume(with: Result { try body(core.value) }) }
        }
    }

    /// The source's thread: absolute deadlines, what is late is skipped.
    private func run(_ sources: SourceBox, _ delay: Duration) {
        let frameTime = sources.video.map { Duration.nanoseconds(Int64(1e9 / $0.framesPerSecond)) }
        // Whole seconds of the sender's clock flash: begin on an audio tick.
        let start = MonotonicClock.now()
        let audioTick: Int64 = 20_000_000
        var nextAudio = Instant(nanoseconds: (start.nanoseconds / audioTick + 1) * audioTick)
        var nextVideo = frameTime == nil ? Instant.distantFuture : nextAudio + delay
        while !isStopped.load(ordering: .relaxed) {
            MonotonicClock.sleep(until: min(nextAudio, nextVideo))
            let now = MonotonicClock.now()
            if now >= nextAudio {
                if let packet = try? sources.audio.packet(at: nextAudio) {
                    let timestamp = nextAudio.ticks(at: 48_000)
                    loop.execute { [core, level = sources.audio.level] in
                        core.value.send(audio: packet, timestamp: timestamp, level: level)
                    }
                }
                nextAudio += .nanoseconds(audioTick)
                if now - nextAudio > .milliseconds(200) {
                    nextAudio = Instant(nanoseconds: (now.nanoseconds / audioTick + 1) * audioTick)
                }
            }
            if let video = sources.video, let frameTime, now >= nextVideo {
                let keyframe = wantsKeyframe.exchange(false, ordering: .relaxed)
                if let frame = try? video.frame(at: nextVideo, keyframe: keyframe) {
                    let packetized = PacketizedVideoFrame(frame)
                    loop.execute { [self] in
                        if core.value.send(packetized) { wantsKeyframe.store(true, ordering: .relaxed) }
                    }
                }
                nextVideo += frameTime
                if now - nextVideo > .milliseconds(200) { nextVideo = now + frameTime }
            }
        }
    }
}

/// Both are used on the source's thread only, where `start` sends them.
private struct SourceBox: @unchecked Sendable {
    let video: (any VideoSource)?
    let audio: any AudioSource
}

/// The core is touched on the loop's thread only: every way to it goes through `MediaLoop.execute` or the loop's
/// delegate calls.
struct FleetBox: @unchecked Sendable {
    let value: FleetCore
    init(_ value: FleetCore) { self.value = value }
}
