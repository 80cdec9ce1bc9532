package import Basics
import Codecs
package import Peer
import Synchronization
package import Threads

/// The server's shared means of decoding.
package struct DecodeServices: Sendable {
    package let pool: WorkPool
    package let meter: StageMeter
    /// The limit of one sender.
    package let pixelsPerSecond: Int
    package let shared: SharedDecodeBudget
    package let counters: IntakeCounters
    /// The time, by which frames are late and budgets fill again.
    let now: @Sendable () -> Instant

    package init(
        pool: WorkPool, meter: StageMeter, pixelsPerSecond: Int, shared: SharedDecodeBudget, counters: IntakeCounters,
        now: @escaping @Sendable () -> Instant = MonotonicClock.now
    ) {
        self.pool = pool
        self.meter = meter
        self.pixelsPerSecond = pixelsPerSecond
        self.shared = shared
        self.counters = counters
        self.now = now
    }
}

/// Turns the coded frames of one participant's camera or screen into the picture that its tile shows.
///
/// The loop delivers frames, a lane of the pool decodes them, and the compose lanes of the views take the pictures.
package final class VideoIntake: Sendable {
    /// The content of a tile now.
    struct View: Sendable {
        var picture: Picture?
        var rotation: Rotation
        var generation: UInt64
        /// The time since the last frame arrived; nil: none ever did.
        var age: Duration?
        var captureTime: Instant
        /// When the picture's frame had arrived, and when it was decoded; nil: there is no picture.
        var origin: PictureOrigin?
    }

    /// A gap between two new pictures above this is a freeze.
    private static let freeze = Duration.milliseconds(200)
    /// A freeze counts as this long at most: from then on the tile shows an avatar (`MixView.state`).
    private static let longestFreeze = Duration.seconds(5)
    /// With more waiting frames than this the intake drops them all and asks for a keyframe …
    private static let backlog = 45
    /// … as with more waiting bytes than this: 4 Mbit/s, the most that a sender is asked for, are 0.5 MB a second …
    private static let backlogBytes = 4 << 20
    /// … and with a frame that waited longer than this: no tile shows it any more (see `PictureQueue.longestHold`).
    private static let maximumAge = Duration.seconds(1)
    /// The size in pixels up to which the last picture of a hidden sender is kept, for its tile until the next
    /// keyframe.
    private static let retainedPixels = 1920 * 1088
    /// The mix waits at most for so long for a picture that was forwarded until then.
    private static let longestResumption = Duration.seconds(1)

    private struct State {
        /// Frames on their way to the decoder, and their bytes.
        var coded: [ReceivedVideoFrame] = []
        var codedBytes = 0
        var pictures = PictureQueue<Shown>()
        /// Times of the pictures that were decoded since the last tick.
        var fresh: [(capture: Instant, arrival: Instant, isRepaired: Bool)] = []
        var lastArrival: Instant?
        /// Since when the pictures are decoded again that were forwarded until then; nil: one was decoded.
        var resumed: Instant?
        /// The tick that showed the last new picture.
        var lastShown: Instant?
        var width = 0
        var height = 0
        var freezes = 0
        /// When the first picture was decoded.
        var firstPicture: Instant?
        /// Audio ahead of picture, averaged over the last second's pictures.
        var offset: Duration?

        /// Counts a freeze if the picture that the tick at `now` is the first to show came too late. Returns how long
        /// the picture before was shown; nil: there was none.
        mutating func countFreeze(at now: Instant) -> Duration? {
            defer { lastShown = now }
            guard let lastShown else { return nil }
            if now - lastShown > VideoIntake.freeze { freezes += 1 }
            return now - lastShown
        }

        /// Measures the offset at the first tick that shows a picture: the time for which it stays on screen is no
        /// offset.
        mutating func measure(_ audioDelay: Duration?, at now: Instant) {
            guard let audioDelay, let capture = pictures.current?.captureTime else {
                offset = nil
                return
            }
            let sample = (now - audioDelay) - capture
            offset = offset.map { $0 + (sample - $0) / 16 } ?? sample
        }
    }

    private struct Shown: Sendable {
        var picture: Picture
        var rotation: Rotation
        var origin: PictureOrigin
    }

    /// Touched by the lane's jobs only.
    private struct Decoding {
        var decoder: VideoDecoder?
        /// The decoder's share of the memory limit, and the picture size in pixels that it is for.
        var reservation: (pixels: PixelReservation, size: Int)?
        var budget: DecodeBudget
        var fit = CanvasFit()

        mutating func close() {
            decoder = nil
            reservation = nil
            fit = CanvasFit()
        }
    }

    /// The decoding lane; busy as long as a frame waits.
    let lane: SerialLane
    private let audioDelay: AudioDelay
    private let state = Guarded(State())
    private let decoding: Confined<Decoding>
    private let shared: SharedDecodeBudget
    private let counters: IntakeCounters
    /// The room's; nil: what is sent is no camera.
    private let quality: MediaQuality?
    private let shown = Atomic<Bool>(false)
    /// Takes the frames for tracks, as they come. Returns whether a keyframe is needed.
    private let trackTap = Guarded<(@Sendable (ReceivedVideoFrame) -> Bool)?>(nil)
    /// What takes the frames to send them to others as they came, by its owner.
    private let forwards = Guarded<[ObjectIdentifier: Forward]>([:])
    /// The codec of the last frame; nil before the first.
    private let lastCodec = Guarded<VideoCodec?>(nil)
    /// When a frame was forwarded last, in nanoseconds.
    private let lastForward = Atomic<Int64>(.min)
    private let awaitsKeyframe = Atomic<Bool>(true)
    /// Width and height, 32 bits each; 0: not known yet.
    private let canvas = Atomic<Int64>(0)
    /// Up to this instant, in nanoseconds, frames are skipped and no keyframe is requested.
    private let pausedUntil = Atomic<Int64>(.min)
    /// Whether the last picture stays while no view has a tile of the sender.
    private let retainsPicture: Bool
    /// Requests a keyframe from the sender. Called on any thread.
    private let requestKeyframe: @Sendable () -> Void
    private let now: @Sendable () -> Instant

    /// - Parameters:
    ///   - pixels: the decoding that the sender may cause, which its camera and its screen share; nil: its own.
    ///   - quality: counts freezes for the room; nil for a screen, whose pictures come when it changes.
    ///   - retainsPicture: whether the last picture stays while no view has a tile of the sender.
    init(
        services: DecodeServices, pixels: SenderPixels? = nil, audioDelay: AudioDelay, quality: MediaQuality? = nil,
        retainsPicture: Bool = true,
        requestKeyframe: @escaping @Sendable () -> Void
    ) {
        now = services.now
        lane = SerialLane(
            pool: services.pool, meter: services.meter, limit: Self.backlog + 1, slack: SerialLane.slackBehindEncoders,
            hasUntrustedInput: true)
        decoding = Confined(
            Decoding(
                budget: DecodeBudget(
                    pixels ?? SenderPixels(pixelsPerSecond: services.pixelsPerSecond, at: now()), at: now())))
        self.retainsPicture = retainsPicture
        shared = services.shared
        counters = services.counters
        self.quality = quality
        self.audioDelay = audioDelay
        self.requestKeyframe = requestKeyframe
    }

    var isShown: Bool { shown.load(ordering: .relaxed) }

    /// The canvas of the room, in pixels.
    func setCanvas(width: Int, height: Int) { canvas.store(Int64(width) << 32 | Int64(height), ordering: .relaxed) }

    var canvasSize: (width: Int, height: Int) {
        let size = canvas.load(ordering: .relaxed)
        return (Int(size >> 32), Int(size & 0xFFFF_FFFF))
    }

    /// Sets whether any view has a tile of the sender. Without one nothing is decoded, and the decoder's memory is
    /// released.
    func setShown(_ isShown: Bool, at now: Instant? = nil) {
        let now = now ?? self.now()
        let was = shown.exchange(isShown, ordering: .relaxed)
        if isShown, !was {
            awaitsKeyframe.store(true, ordering: .relaxed)
            let wasForwarded = lastForward.load(ordering: .relaxed) > (now - Self.longestResumption).nanoseconds
            state.withLock { state in
                // The time without a tile is no freeze.
                state.lastShown = nil
                state.resumed = wasForwarded ? now : nil
            }
            requestKeyframe()
        } else if !isShown, was {
            discardWaiting()
            lane.submit { [self] in
                decoding.value.close()
                state.withLock { state in
                    state.pictures.removeWaiting()
                    if !retainsPicture || state.width * state.height > Self.retainedPixels {
                        state.pictures.removeAll()
                    }
                }
            }
        }
    }

    /// Takes a coded frame from the peer, on the loop. Returns whether the decoder needs a keyframe first.
    package func receive(_ frame: ReceivedVideoFrame) -> Bool {
        lastCodec.withLock { $0 = frame.frame.codec }
        var needsKeyframe = trackTap.withLock { $0 }?(frame) ?? false
        let forwards = Array(forwards.withLock { $0.values })
        if !forwards.isEmpty {
            let delay = audioDelay.current(at: frame.arrival)
            lastForward.store(frame.arrival.nanoseconds, ordering: .relaxed)
            for forward in forwards where forward.take(frame, delay) { needsKeyframe = true }
            if !isShown, frame.frame.isKeyframe { check(frame, for: forwards) }
        }
        return decode(frame) || needsKeyframe
    }

    // MARK: - Forwarding

    /// What takes the frames to send them to others as they came.
    struct Forward: Sendable {
        /// Takes a frame on the sender's loop, with the delay of the sender's audio. Returns whether it needs a keyframe.
        var take: @Sendable (ReceivedVideoFrame, Duration?) -> Bool
        /// A keyframe could not be decoded.
        var failed: @Sendable () -> Void
    }

    /// The codec that the sender sends; nil before its first frame.
    var codec: VideoCodec? { lastCodec.withLock { $0 } }

    func addForward(_ owner: ObjectIdentifier, _ forward: Forward) { forwards.withLock { $0[owner] = forward } }
    func removeForward(_ owner: ObjectIdentifier) { forwards.withLock { $0[owner] = nil } }

    /// Decodes a keyframe of a sender whose frames go to others without being decoded: what the library does not take,
    /// others do not get for longer than that.
    private func check(_ frame: ReceivedVideoFrame, for forwards: [Forward]) {
        lane.submit { [self] in
            let isGood = decode(frame, at: now())
            if !isShown {
                decoding.value.close()
                if !retainsPicture { state.withLock { $0.pictures.removeAll() } }
            }
            if !isGood { for forward in forwards { forward.failed() } }
        }
    }

    /// Sets what takes the frames beside the decoder.
    func setTrackTap(_ tap: (@Sendable (ReceivedVideoFrame) -> Bool)?) { trackTap.withLock { $0 = tap } }

    /// Requests the keyframe with which a track begins.
    func beginTrack() { requestKeyframe() }

    private func decode(_ frame: ReceivedVideoFrame) -> Bool {
        guard isShown else { return false }
        if frame.arrival.nanoseconds < pausedUntil.load(ordering: .relaxed) {
            skip(frames: 1)
            return false
        }
        let waiting = state.withLock { (frames: $0.coded.count, bytes: $0.codedBytes) }
        if waiting.frames >= Self.backlog || waiting.bytes + frame.frame.data.count > Self.backlogBytes {
            counters.count(waiting.frames >= Self.backlog ? .late : .bytes, waiting.frames)
            discardWaiting()
        }
        if awaitsKeyframe.load(ordering: .relaxed) {
            guard frame.frame.isKeyframe else { return true }
            awaitsKeyframe.store(false, ordering: .relaxed)
        }
        state.withLock { state in
            state.coded.append(frame)
            state.codedBytes += frame.frame.data.count
        }
        lane.submit { [self] in decodeNext() }
        return false
    }

    /// Drops the waiting frames; the next frame to decode must be a keyframe.
    private func discardWaiting() {
        awaitsKeyframe.store(true, ordering: .relaxed)
        lane.removeAll()
        state.withLock { state in
            state.coded.removeAll()
            state.codedBytes = 0
        }
    }

    private func skip(frames: Int) { counters.skippedFrames.wrappingAdd(frames, ordering: .relaxed) }

    private func decodeNext() {
        let next: ReceivedVideoFrame? = state.withLock { state in
            guard !state.coded.isEmpty else { return nil }
            let frame = state.coded.removeFirst()
            state.codedBytes -= frame.frame.data.count
            return frame
        }
        guard let next else { return }
        let now = self.now()
        if now - next.arrival > Self.maximumAge { return refuse(.late, at: now) }
        decode(next, at: now)
    }

    /// Skips this frame and those that refer to it.
    private func refuse(_ refusal: DecodeRefusal, at now: Instant) {
        let until = now + decoding.value.budget.pause(after: refusal, at: now)
        // Without memory for its format the decoder is of no use during the pause.
        if refusal == .memory { decoding.value.close() }
        pausedUntil.store(until.nanoseconds, ordering: .relaxed)
        let waiting = state.withLock { $0.coded.count }
        skip(frames: 1 + waiting)
        counters.count(refusal, 1 + waiting)
        discardWaiting()
    }

    /// Returns whether the frame was decoded, or shows no picture.
    @discardableResult
    private func decode(_ frame: ReceivedVideoFrame, at now: Instant) -> Bool {
        var refusal: DecodeRefusal?
        do {
            if decoding.value.decoder?.codec != frame.frame.codec {
                decoding.value.close()
                decoding.value.decoder = try VideoDecoder(codec: frame.frame.codec)
            }
            let decoded = try decoding.value.decoder?.decode(frame.frame) { format in
                refusal = admit(format, at: now)
                return refusal == nil
            }
            if let refusal {
                refuse(refusal, at: now)
                return false
            }
            guard let decoded else { return true }
            counters.decodedFrames.wrappingAdd(1, ordering: .relaxed)
            show(
                decoding.value.fit.fitted(decoded, frame.rotation, to: canvasSize), rotation: frame.rotation,
                size: (decoded.width, decoded.height), captureTime: frame.captureTime, arrival: frame.arrival,
                isRepaired: frame.isRepaired)
            return true
        } catch {
            // The fault costs this frame and those that refer to it; the last good picture stays.
            counters.count(.fault)
            awaitsKeyframe.store(true, ordering: .relaxed)
            if case CodecError.unsupportedInput = error {
                // The sender's next frames have the same format: the pause avoids a keyframe request for each of them.
                pausedUntil.store((now + .seconds(1)).nanoseconds, ordering: .relaxed)
            } else {
                requestKeyframe()
            }
            return false
        }
    }

    private func admit(_ format: VideoFormat, at now: Instant) -> DecodeRefusal? {
        if let refusal = decoding.value.budget.admit(format, shared: shared, at: now) { return refusal }
        guard decoding.value.reservation?.size != format.pixels else { return nil }
        // The decoder releases its old pictures, so their reservation ends first.
        decoding.value.reservation = nil
        guard let pixels = shared.reserve(format) else { return .memory }
        decoding.value.reservation = (pixels, format.pixels)
        return nil
    }

    /// Takes a decoded picture.
    ///
    /// - Parameter size: of the picture as it was decoded.
    func show(
        _ picture: Picture, rotation: Rotation, size: (width: Int, height: Int), captureTime: Instant,
        arrival: Instant, isRepaired: Bool = false
    ) {
        let ready = now()
        state.withLock { state in
            state.lastArrival = arrival
            if let resumed = state.resumed, arrival >= resumed { state.resumed = nil }
            state.firstPicture = state.firstPicture ?? ready
            (state.width, state.height) = rotation.isSideways ? (size.height, size.width) : size
            state.pictures.insert(
                Timed(
                    content: Shown(
                        picture: picture, rotation: rotation,
                        origin: PictureOrigin(arrival: arrival, decoded: ready)),
                    captureTime: captureTime, arrival: arrival),
                bytes: picture.width * picture.height * 3 / 2)
            // Bounded, since no tick empties the list while the sender has no tile.
            if state.fresh.count < PictureQueue<Shown>.limit {
                state.fresh.append((captureTime, arrival, isRepaired))
            }
        }
    }

    /// The picture for the tick at `now`.
    func view(at now: Instant) -> View {
        let delay = audioDelay.current(at: now)
        return state.withLock { state in
            for (capture, arrival, isRepaired) in state.fresh {
                audioDelay.recordPicture(of: capture, arrival: arrival, isRepaired: isRepaired, couldBeShownAt: now)
            }
            state.fresh.removeAll(keepingCapacity: true)
            let before = state.pictures.generation
            state.pictures.advance(to: now, audioDelay: delay)
            let current = state.pictures.current
            if state.pictures.generation != before {
                state.measure(delay, at: now)
                if let time = state.countFreeze(at: now) {
                    quality?.shown(for: min(time, Self.longestFreeze), isFreeze: time > Self.freeze)
                }
            }
            return View(
                picture: current?.content.picture, rotation: current?.content.rotation ?? .none,
                generation: state.pictures.generation, age: state.lastArrival.map { now - $0 },
                captureTime: current?.captureTime ?? now, origin: current?.content.origin)
        }
    }

    /// Width by height as displayed; 16:9 before the first picture.
    var aspectRatio: Double {
        state.withLock { $0.height > 0 ? Double($0.width) / Double($0.height) : 16.0 / 9 }
    }

    /// Whether the pictures were forwarded until now, and none is decoded again yet: the last one that was may be old.
    func isResuming(at now: Instant) -> Bool {
        state.withLock { state in state.resumed.map { now - $0 < Self.longestResumption } ?? false }
    }

    package var size: (width: Int, height: Int) { state.withLock { ($0.width, $0.height) } }
    package var firstPicture: Instant? { state.withLock { $0.firstPicture } }
    package var freezes: Int { state.withLock { $0.freezes } }

    /// How far the audio is ahead of the picture (positive) or behind it, in the mix; zero without one of the two.
    package func audioVideoOffset(at now: Instant) -> Duration { measuredOffset(at: now) ?? .zero }

    /// The same; nil without one of the two.
    func measuredOffset(at now: Instant) -> Duration? {
        audioDelay.current(at: now) == nil ? nil : state.withLock { $0.offset }
    }

    func close() {
        shown.store(false, ordering: .relaxed)
        lane.close()
        state.withLock { state in
            state.coded.removeAll()
            state.codedBytes = 0
        }
    }
}
