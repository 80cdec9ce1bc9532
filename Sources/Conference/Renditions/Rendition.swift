import Basics
import Codecs
import Sockets
import Peer
import Synchronization

/// Names one encode of a room: whoever has the same key gets the same bits.
struct RenditionKey: Hashable, Sendable {
    var room: String
    var view: ViewID
    var codec: VideoCodec
    /// For H.264 receivers of packetization-mode 0: no NAL unit may be larger than a packet.
    var singleNAL: Bool
    var choice: RenditionSelector.Choice
}

/// One encoder and those who take its frames.
///
/// Started with its first member, stopped with its last. Keyframes are made on request, one for all who ask within half a second.
final class Rendition: Sendable {
    /// Two keyframes are at least so far apart, so that a join costs the others nothing that they see.
    static let keyframeDistance = Duration.milliseconds(500)
    /// An unchanged canvas is encoded only so often.
    static let keepAlive = Duration.seconds(1)
    /// What a single NAL unit packet carries at most; `PacketizedVideoFrame`'s own default.
    static let maxPayload = 1100

    let key: RenditionKey
    let rung: Ladder.Rung

    private struct State {
        /// What each member's line carries; nil: no limit (a recording, or not yet known).
        var members: [String: BitRate?] = [:]
        var taps: [String: @Sendable (EncodedVideoFrame) -> Void] = [:]
        var wantsKeyframe = true
        var lastKeyframe: Instant?
        var lastEncode: Instant?
        var encodedGeneration: UInt64 = 0
        var framesSent = 0
        var bytesSent = 0
        var keyframes = 0
        var encodeTime = Duration.zero
    }

    private let state = Mutex(State())
    private let lane: SerialLane
    private let overload: OverloadState
    private let delays: PictureDelays
    private let deliver: @Sendable (RenditionKey, PacketizedVideoFrame, PictureTrace) -> Void
    private let report: @Sendable (String) -> Void
    /// Touched by the lane's jobs only.
    private let encoder = Confined<(any VideoEncoder)?>(nil)

    init(
        key: RenditionKey, rung: Ladder.Rung, pool: WorkPool, meters: StageMeters, overload: OverloadState,
        deliver: @escaping @Sendable (RenditionKey, PacketizedVideoFrame, PictureTrace) -> Void,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.key = key
        self.rung = rung
        self.overload = overload
        self.deliver = deliver
        delays = meters.delays
        self.report = report
        // One waits while one is encoded; a newer picture takes the place of the one that waits.
        lane = SerialLane(pool: pool, meter: meters.encode, limit: 1)
    }

    // MARK: - Members

    func add(_ member: String, estimate: BitRate?) {
        state.withLock { $0.members[member] = .some(estimate) }
    }

    /// Returns whether nobody is left.
    func remove(_ member: String) -> Bool {
        state.withLock { state in
            state.members[member] = nil
            state.taps[member] = nil
            return state.members.isEmpty
        }
    }

    /// A member that takes the frames as they are; called on the lane.
    func tap(_ member: String, _ body: @escaping @Sendable (EncodedVideoFrame) -> Void) {
        state.withLock { state in
            state.members[member] = .some(nil)
            state.taps[member] = body
            state.wantsKeyframe = true
        }
    }

    func setEstimate(_ estimate: BitRate, of member: String) {
        state.withLock { if $0.members[member] != nil { $0.members[member] = .some(estimate) } }
    }

    var memberCount: Int { state.withLock { $0.members.count } }
    var figures: (frames: Int, bytes: Int, keyframes: Int, encodeTime: Duration) {
        state.withLock { ($0.framesSent, $0.bytesSent, $0.keyframes, $0.encodeTime) }
    }

    /// The weakest member's line within the rung.
    var bitRate: BitRate { state.withLock { targetRate($0) } }

    private func targetRate(_ state: State) -> BitRate {
        let weakest = state.members.values.compactMap { $0 }.min()
        guard let weakest, key.choice != .slides else { return rung.bitRate }
        let selector = RenditionSelector.Configuration()
        let left = (weakest - selector.audio) * 0.95
        return min(rung.bitRate, max(left, rung.bitRate * selector.lowest * 0.95))
    }

    func requestKeyframe() { state.withLock { $0.wantsKeyframe = true } }

    // MARK: - Encoding

    /// Whether the picture of this tick is to be encoded. `generation` changes whenever the canvas does.
    func wantsPicture(at tick: Instant, generation: UInt64) -> Bool {
        state.withLock { state in
            guard !state.members.isEmpty else { return false }
            guard let last = state.lastEncode else { return true }
            if key.choice == .slides { return tick - last >= Ladder.slideInterval || keyframeIsDue(state, at: tick) }
            if keyframeIsDue(state, at: tick) { return true }
            // Half a tick of slack: ticks of 33.3 ms must give every second one to a rendition of 15 frames/s.
            let period = Duration.nanoseconds(1_000_000_000 / Int64(rung.framesPerSecond)) - .milliseconds(8)
            guard tick - last >= period else { return false }
            return generation != state.encodedGeneration || tick - last >= Self.keepAlive
        }
    }

    private func keyframeIsDue(_ state: State, at tick: Instant) -> Bool {
        guard state.wantsKeyframe else { return false }
        guard let last = state.lastKeyframe else { return true }
        return tick - last >= Self.keyframeDistance
    }

    /// Hands a picture of the rendition's size to the encoder's lane.
    func encode(_ picture: Picture, at tick: Instant, generation: UInt64, trace: PictureTrace) {
        state.withLock { state in
            state.lastEncode = tick
            state.encodedGeneration = generation
        }
        lane.submit { [self] in run(picture, at: tick, trace) }
    }

    private func run(_ picture: Picture, at tick: Instant, _ trace: PictureTrace) {
        let (force, rate, taps) = state.withLock { state in
            let force = keyframeIsDue(state, at: tick) || key.choice == .slides
            if force {
                state.wantsKeyframe = false
                state.lastKeyframe = tick
            }
            return (force, targetRate(state), state.taps)
        }
        let start = MonotonicClock.now()
        do {
            let encoder = try readyEncoder(rate: rate)
            guard let frame = try encoder.encode(picture, timestamp: tick.ticks(at: 90_000), forceKeyframe: force) else {
                if force { requestKeyframe() }
                return
            }
            let took = MonotonicClock.now() - start
            state.withLock { state in
                state.framesSent += 1
                state.bytesSent += frame.data.count
                if frame.isKeyframe {
                    state.keyframes += 1
                    state.lastKeyframe = tick
                }
                state.encodeTime = state.encodeTime * 0.9 + took * 0.1
            }
            overload.encoded(in: took, of: Duration.nanoseconds(1_000_000_000 / Int64(max(rung.framesPerSecond, 1))))
            for tap in taps.values { tap(frame) }
            let packetized = PacketizedVideoFrame(
                frame, maxPayload: Self.maxPayload, packetizationMode: key.singleNAL ? 0 : 1)
            var trace = trace
            trace.encoded = MonotonicClock.now()
            delays.encoded(trace)
            deliver(key, packetized, trace)
        } catch {
            // It costs this frame; the next one starts with a fresh encoder and a keyframe.
            encoder.value = nil
            requestKeyframe()
            report("\(key.codec) \(rung.width)×\(rung.height): \(error)")
        }
    }

    private func readyEncoder(rate: BitRate) throws(CodecError) -> any VideoEncoder {
        let speed = overload.usesFastEncoders ? VideoEncoderConfiguration.Speed.fast : .normal
        if let encoder = encoder.value, encoder.configuration.speed == speed {
            // A step of less than 5 % is not worth the encoder's attention.
            let now = encoder.configuration.bitRate.bitsPerSecond
            if abs(now - rate.bitsPerSecond) * 20 > now { encoder.setBitRate(rate) }
            return encoder
        }
        let made = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: key.codec, width: rung.width, height: rung.height, framesPerSecond: Double(rung.framesPerSecond),
                bitRate: rate, temporalLayers: rung.framesPerSecond > 15 ? 2 : 1,
                maxNALSize: key.singleNAL ? Self.maxPayload : nil, speed: speed))
        encoder.value = made
        return made
    }

    func close() { lane.close() }
}
