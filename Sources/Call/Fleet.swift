package import Basics
import Codecs
package import Peer
package import Sockets
import Synchronization
import Threads

/// Many headless participants on one thread with one source: the media that all send is encoded once, so that twenty
/// participants cost little more than one.
package final class Fleet: Sendable {
    /// An event of one participant's media.
    package enum Event: Sendable {
        case connected
        case video(ReceivedVideoFrame)
        case audio(ReceivedAudioPacket)
        case ended(String)
    }

    let loop: MediaLoop
    private let wantsKeyframe = Atomic(false)
    private let isStopped = Atomic(false)
    private let core: FleetBox
    private let activity = SourceActivity()
    private let local: IPAddress
    /// The sockets of participants by number, and the free sockets of participants who left.
    private let sockets = Guarded<(taken: [Int: SocketAddress], free: [SocketAddress])>(([:], []))

    /// - Parameter local: the address to which each participant's socket is bound with its offer.
    package init(local: IPAddress) throws(NetworkError) {
        self.local = local
        loop = try MediaLoop(MediaLoopConfiguration())
        core = FleetBox(FleetCore(loop: loop))
    }

    /// The address of a participant's socket; nil before its offer.
    package func address(of number: Int) -> SocketAddress? { sockets.withLock { $0.taken[number] } }

    /// Assigns a socket to a participant: a free one of a participant who left, or a new one.
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
    package func start(options: CallOptions) throws {
        let videoFile = options.video, audioFile = options.audio
        let codec = options.codec
        let seed = options.name.utf8.reduce(0) { $0 &* 31 &+ Int($1) } & 0xFFFF
        // Faulty files are reported here, before any thread runs.
        let sources = SourceBox(
            video: try makeVideoSource(file: videoFile, codec: codec, seed: seed),
            audio: try makeAudioSource(file: audioFile, video: videoFile, seed: seed))
        start(sources)
    }

    /// Starts both threads with encoded media from memory, sent in a loop at no encoding cost, for benchmarks.
    ///
    /// - Parameters:
    ///   - frames: the video frames, of which the first is a keyframe; none: the participants have no camera on.
    ///   - audio: Opus packets of 20 ms.
    ///   - delay: the time between an audio tick and the first frame, so that fleets differ as cameras do.
    package func start(
        frames: [EncodedVideoFrame], framesPerSecond: Double, audio: [[UInt8]], delay: Duration = .zero
    ) throws(CallError) {
        let video = PassthroughVideoSource(frames: frames, framesPerSecond: framesPerSecond)
        guard video != nil || frames.isEmpty, !audio.isEmpty else {
            throw CallError("a fleet's frames must begin with a keyframe, and it needs audio")
        }
        start(SourceBox(video: video, audio: LoopedAudioSource(packets: audio)), delay: delay)
    }

    private func start(_ sources: SourceBox, delay: Duration = .zero) {
        activity.start(hasVideo: sources.video != nil, at: MonotonicClock.now())
        loop.start(named: "call", delegate: core.value)
        DedicatedThread.start("call-source") { [self] in run(sources, delay) }
    }

    /// Closes the connections and ends both threads.
    package func stop() {
        isStopped.store(true, ordering: .relaxed)
        loop.execute { [core] in core.value.closeAll(at: MonotonicClock.now()) }
        loop.stop()
    }

    /// Creates the connection of participant `number` and returns its offer, with `codec` preferred, or `only` that
    /// codec.
    ///
    /// - Parameter hasOwnIdentity: the offer has a certificate that no other has, so that a server which had another
    ///   connection in the same seat takes it for a new one.
    package func offer(
        _ number: Int, codec: VideoCodec, only: Bool = false, hasOwnIdentity: Bool = false,
        onEvent: @escaping @Sendable (Event) -> Void
    ) async throws -> String {
        let address = try bind(number)
        return try await onLoop { core in
            try core.addLeg(
                number, at: address, codec: codec, only: only, hasOwnIdentity: hasOwnIdentity, onEvent: onEvent)
        }
    }

    /// Takes the server's answer to the offer of participant `number`.
    package func accept(answer: String, for number: Int) async throws {
        try await onLoop { core in try core.accept(answer, for: number) }
    }

    /// The statistics of participant `number`.
    package func statistics(_ number: Int) async -> PeerStatistics? {
        try? await onLoop { core in core.statistics(number) }
    }

    /// What all participants send.
    func sent(at now: Instant) -> SourceActivity.Sent { activity.sent(at: now) }

    /// Ends participant `number`.
    package func close(_ number: Int) {
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

    /// The source's thread: it works at absolute deadlines.
    private func run(_ sources: SourceBox, _ delay: Duration) {
        let frameTime = sources.video.map { Duration.nanoseconds(Int64(1e9 / $0.framesPerSecond)) }
        var schedule = SourceSchedule(start: MonotonicClock.now(), frameTime: frameTime, delay: delay)
        while !isStopped.load(ordering: .relaxed) {
            MonotonicClock.sleep(until: min(schedule.nextAudio, schedule.nextVideo))
            let now = MonotonicClock.now()
            if now >= schedule.nextAudio {
                if let packet = try? sources.audio.packet(at: schedule.nextAudio) {
                    let timestamp = schedule.nextAudio.ticks(at: 48_000)
                    activity.gaveAudio(at: now)
                    loop.execute { [core, level = sources.audio.level] in
                        core.value.send(audio: packet, timestamp: timestamp, level: level)
                    }
                }
                schedule.audioSent(at: now)
            }
            if let video = sources.video, now >= schedule.nextVideo {
                let keyframe = wantsKeyframe.exchange(false, ordering: .relaxed)
                if let frame = try? video.frame(at: schedule.nextVideo, keyframe: keyframe) {
                    let packetized = PacketizedVideoFrame(frame)
                    activity.gaveVideo(at: now)
                    loop.execute { [self] in
                        if core.value.send(packetized) { wantsKeyframe.store(true, ordering: .relaxed) }
                    }
                }
                let packets = schedule.videoSent(at: now, leavingOut: video.leftOut)
                for _ in 0..<packets { try? sources.audio.skip() }
            }
        }
    }
}

/// Both are used on the source's thread only, where `start` sends them.
private struct SourceBox: @unchecked Sendable {
    let video: (any VideoSource)?
    let audio: any AudioSource
}

/// The core is accessed on the loop's thread only: in `MediaLoop.execute` and in the loop's delegate calls.
struct FleetBox: @unchecked Sendable {
    let value: FleetCore
    init(_ value: FleetCore) { self.value = value }
}
