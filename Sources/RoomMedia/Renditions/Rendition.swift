package import Basics
import Codecs
import Peer
import Threads

/// Identifies one encode of a room: members with the same key get the same bits.
package struct RenditionKey: Hashable, Sendable {
    package var room: String
    package var view: ViewID
    package var codec: VideoCodec
    /// For H.264 receivers of packetization-mode 0 (RFC 6184 §6.2): no NAL unit may be larger than a packet.
    var singleNAL: Bool
    package var kind: RenditionKind
}

/// One encoder and the members that take its frames.
///
/// Starts with its first member and stops with its last. Keyframes are made on request, by the rules of
/// `RenditionControl`.
package final class Rendition: Sendable {
    package let key: RenditionKey
    package let rung: Ladder.Rung
    /// Shared with the other renditions of the same label.
    package let counters: RenditionCounters
    private let parameterSetID: Int

    private struct State {
        var control: RenditionControl
        /// The loops of the members that are peers.
        var places: [String: Int] = [:]
        var loops: [Int] = []
        var taps: [String: @Sendable (EncodedVideoFrame) -> Void] = [:]
        var framesSent = 0
        var bytesSent = 0
        var keyframes = 0
        var encodeTime = Duration.zero

        mutating func place(_ member: String, on loop: Int?) {
            guard places[member] != loop else { return }
            places[member] = loop
            loops = Set(places.values).sorted()
        }
    }

    private let state: Guarded<State>
    private let lane: SerialLane
    private let overload: OverloadState
    private let delays: PictureDelays
    private let now: @Sendable () -> Instant
    private let deliver: @Sendable (RenditionKey, PacketizedVideoFrame, PictureTrace, _ loops: [Int]) -> Void
    private let report: @Sendable (String) -> Void
    /// Touched by the lane's jobs only.
    private let encoder = Confined<(any VideoEncoder)?>(nil)
    /// Where the frames come from that are a sender's own; nil: they are encoded.
    private let forwarding: Forwarding?

    init(
        key: RenditionKey, rung: Ladder.Rung, parameterSetID: Int, pool: WorkPool, meters: StageMeters,
        overload: OverloadState, counters: RenditionCounters = RenditionCounters(), forwarding: Forwarding? = nil,
        now: @escaping @Sendable () -> Instant = MonotonicClock.now,
        deliver: @escaping @Sendable (RenditionKey, PacketizedVideoFrame, PictureTrace, _ loops: [Int]) -> Void,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.key = key
        self.rung = rung
        self.parameterSetID = parameterSetID
        state = Guarded(State(control: RenditionControl(rung: rung, kind: key.kind)))
        self.overload = overload
        self.counters = counters
        self.forwarding = forwarding
        self.now = now
        self.deliver = deliver
        delays = meters.delays
        self.report = report
        // One picture waits while one is encoded; a newer picture replaces the waiting one.
        lane = SerialLane(pool: pool, meter: meters.encode, limit: 1)
        forwarding?.begin(self)
    }

    // MARK: - Members

    /// - Parameters:
    ///   - budget: the bit rate that the member's link leaves for video; nil: not yet known.
    ///   - loop: the loop of the member's peer.
    func add(_ member: String, budget: BitRate?, loop: Int) {
        state.withLock { state in
            state.control.join(member, budget: budget)
            state.place(member, on: loop)
        }
        followBudgets()
    }

    /// Removes a member. Returns whether none is left.
    func remove(_ member: String) -> Bool {
        let isEmpty = state.withLock { state in
            state.control.leave(member)
            state.place(member, on: nil)
            state.taps[member] = nil
            return state.control.isEmpty
        }
        followBudgets()
        return isEmpty
    }

    /// Adds a member whose `body` takes the encoded frames, on the lane.
    func tap(_ member: String, needs: TapNeeds, _ body: @escaping @Sendable (EncodedVideoFrame) -> Void) {
        state.withLock { state in
            state.control.tap(member, needs)
            state.taps[member] = body
            state.control.requestKeyframe(isUrgent: true)
        }
    }

    func setBudget(_ budget: BitRate, of member: String) {
        state.withLock { $0.control.setBudget(budget, of: member) }
        followBudgets()
    }

    private func followBudgets() {
        if let forwarding { forwarding.follow(state.withLock { $0.control.leastBudget }) }
    }

    package var label: RenditionLabel { RenditionLabel(key, rung) }
    package var memberCount: Int { state.withLock { $0.control.memberCount } }
    package var statistics: (frames: Int, bytes: Int, keyframes: Int, encodeTime: Duration) {
        state.withLock { ($0.framesSent, $0.bytesSent, $0.keyframes, $0.encodeTime) }
    }

    /// The bit rate that the members' links carry, within the rung's.
    package var bitRate: BitRate {
        state.withLock { state in
            forwarding == nil ? state.control.rate : min(state.control.leastBudget ?? rung.bitRate, rung.bitRate)
        }
    }

    /// The size of the picture in pixels: of a forwarded one what the sender sends now.
    package var size: (width: Int, height: Int) { forwarding?.size ?? (rung.width, rung.height) }

    /// Requests a keyframe for a member that joins, which it shares with others who do. Returns the time to it at most.
    func awaitKeyframe(_ member: String, at now: Instant) -> Duration {
        forwarding?.requestKeyframe(at: now)
        return state.withLock { $0.control.awaitKeyframe(member, at: now) }
    }

    /// - Parameter isUrgent: for a member that cannot wait; other requests repair a loss and share a budget of
    ///   keyframes.
    package func requestKeyframe(isUrgent: Bool) {
        if let forwarding { return forwarding.requestKeyframe(at: now()) }
        state.withLock { $0.control.requestKeyframe(isUrgent: isUrgent) }
    }

    // MARK: - Encoding

    /// Whether the picture of this tick is to be encoded. `generation` changes whenever the canvas does.
    func wantsPicture(at tick: Instant, generation: UInt64) -> Bool {
        state.withLock { $0.control.wantsPicture(at: tick, generation: generation) }
    }

    /// Hands a picture of the rendition's size to the encoder's lane.
    func encode(_ picture: Picture, at tick: Instant, generation: UInt64, trace: PictureTrace) {
        state.withLock { $0.control.noteQueued(picture: generation, at: tick) }
        lane.submit { [self] in run(picture, at: tick, trace) }
    }

    private func run(_ picture: Picture, at tick: Instant, _ trace: PictureTrace) {
        let (force, rate, taps) = state.withLock { state in
            let force = state.control.takeKeyframe(at: tick)
            return (force, state.control.rate, state.taps)
        }
        let start = now()
        do {
            let encoder = try readyEncoder(rate: rate)
            guard let frame = try encoder.encode(picture, timestamp: tick.ticks(at: 90_000), forceKeyframe: force)
            else {
                state.withLock { $0.control.noteSkipped(isKeyframe: force) }
                return
            }
            let took = now() - start
            let loops = state.withLock { state in
                state.framesSent += 1
                state.bytesSent += frame.data.count
                if encoder.hasMore { state.control.noteUnfinished() }
                if frame.isKeyframe {
                    state.keyframes += 1
                    state.control.noteKeyframe(at: tick)
                }
                state.encodeTime = state.encodeTime * 0.9 + took * 0.1
                return state.loops
            }
            counters.count(bytes: frame.data.count, isKeyframe: frame.isKeyframe)
            overload.encoded(in: took, of: Duration.nanoseconds(1_000_000_000 / Int64(max(rung.framesPerSecond, 1))))
            for tap in taps.values { tap(frame) }
            let packetized = PacketizedVideoFrame(
                frame, maxPayload: maxPayload, packetizationMode: key.singleNAL ? 0 : 1)
            var trace = trace
            trace.encoded = now()
            delays.encoded(trace)
            deliver(key, packetized, trace, loops)
        } catch {
            // The failure costs this frame; the next one starts with a fresh encoder and a keyframe.
            encoder.value = nil
            requestKeyframe(isUrgent: true)
            report("\(key.codec) \(rung.width)×\(rung.height): \(error)")
        }
    }

    /// The encoder, set to the current rate, to the speed of the overload level, and to half the frame rate while an
    /// overload skips every second tick.
    private func readyEncoder(rate: BitRate) throws(CodecError) -> any VideoEncoder {
        let framesPerSecond =
            Double(rung.framesPerSecond) / (overload.level >= .halfRate && rung.framesPerSecond > 15 ? 2 : 1)
        let speed = overload.usesFastEncoders ? VideoEncoderConfiguration.Speed.fast : .normal
        if let encoder = encoder.value, encoder.configuration.speed == speed {
            // Steps of less than 5 % are not worth a change of the encoder's settings.
            let now = encoder.configuration.bitRate.bitsPerSecond
            if abs(now - rate.bitsPerSecond) * 20 > now { encoder.setBitRate(rate) }
            if encoder.configuration.framesPerSecond != framesPerSecond { encoder.setFrameRate(framesPerSecond) }
            return encoder
        }
        let made = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: key.codec, width: rung.width, height: rung.height, framesPerSecond: Double(rung.framesPerSecond),
                bitRate: rate, temporalLayers: rung.framesPerSecond > 8 ? 2 : 1,
                maxNALSize: key.singleNAL ? maxPayload : nil, speed: speed, parameterSetID: parameterSetID,
                content: isScreen ? .screen : .faces))
        encoder.value = made
        return made
    }

    // MARK: - Forwarding

    /// Takes a frame of the sender whose picture this is, on the sender's loop. Returns whether a keyframe is needed.
    func forward(_ received: ReceivedVideoFrame, audioDelay: Duration?) -> Bool {
        guard let forwarding else { return false }
        let (budget, loops) = state.withLock { ($0.control.leastBudget, $0.loops) }
        let (frame, needsKeyframe) = forwarding.take(received, audioDelay: audioDelay, budget: budget ?? rung.bitRate)
        guard let frame else { return needsKeyframe }
        state.withLock { state in
            state.framesSent += 1
            state.bytesSent += frame.data.count
            if frame.isKeyframe { state.keyframes += 1 }
        }
        counters.count(bytes: frame.data.count, isKeyframe: frame.isKeyframe)
        let now = self.now()
        var trace = PictureTrace(composed: now)
        trace.origins = [PictureOrigin(arrival: received.arrival, decoded: now)]
        deliver(key, PacketizedVideoFrame(frame, maxPayload: maxPayload, layerSync: false), trace, loops)
        return needsKeyframe
    }

    /// Stops the frames at once, since nobody may see their sender any more: the members keep the last one until the
    /// mix has theirs.
    func stopForwarding() { forwarding?.close() }

    /// Ends what is forwarded of a camera that sends nothing any more: the mix shows that.
    func endSilence(after time: Duration, at now: Instant) {
        if let forwarding, forwarding.isSilent(for: time, at: now) { forwarding.end(.silence) }
    }

    private var isScreen: Bool { if case .screen = key.kind { true } else { false } }
    private var maxPayload: Int { state.withLock { $0.control.maxPayload } }

    var isBusy: Bool { lane.isBusy }

    func close() {
        forwarding?.close()
        lane.close()
    }
}
