import Basics
import Codecs
import Peer
import Synchronization
import Threads

/// What decoding takes of the server.
package struct DecodeServices: Sendable {
    package let pool: WorkPool
    package let meter: StageMeter
    /// Of one sender.
    package let pixelsPerSecond: Int
    package let shared: SharedDecodeBudget
    package let counters: IntakeCounters

    package init(
        pool: WorkPool, meter: StageMeter, pixelsPerSecond: Int, shared: SharedDecodeBudget, counters: IntakeCounters
    ) {
        self.pool = pool
        self.meter = meter
        self.pixelsPerSecond = pixelsPerSecond
        self.shared = shared
        self.counters = counters
    }
}

/// From one participant's coded frames to the picture that its tile shows.
///
/// Frames come on the loop, are decoded in a lane of the pool, and pictures are taken by the compose lanes of the
/// views.
package final class VideoIntake: Sendable {
    /// What a tile shows now.
    struct View: Sendable {
        var picture: Picture?
        var rotation: Rotation
        var generation: UInt64
        /// The last frame came so long ago; nil: none ever did.
        var age: Duration?
        var captureTime: Instant
        /// When the picture's frame had arrived, and when it was decoded; nil: there is no picture.
        var origin: PictureOrigin?
    }

    /// So long without a new picture is a freeze.
    private static let freeze = Duration.milliseconds(200)
    /// More frames than that behind, and the rest is given up for a keyframe …
    private static let backlog = 45
    /// … as with so many coded bytes: 4 Mbit/s, the most that a sender is asked for, are 0.5 MB a second …
    private static let backlogBytes = 4 << 20
    /// … and with a frame that waited so long: no tile shows it any more (see `PictureQueue.longestHold`).
    private static let latest = Duration.seconds(1)
    /// The largest picture that is kept while nobody sees it, so that the tile has something until the next keyframe.
    private static let keptPixels = 1920 * 1088

    private struct State {
        /// Frames on their way to the decoder, and their bytes.
        var coded: [ReceivedVideoFrame] = []
        var codedBytes = 0
        var pictures = PictureQueue<Shown>()
        /// Of the pictures that came since the last tick.
        var fresh: [(capture: Instant, arrival: Instant, isRepaired: Bool)] = []
        var lastArrival: Instant?
        /// The tick that showed the last new picture.
        var lastShown: Instant?
        var width = 0
        var height = 0
        var freezes = 0
        /// Sound ahead of picture, averaged over the last second's pictures.
        var offset: Duration?

        /// A new picture is in the mix from this tick on.
        mutating func showed(at now: Instant) {
            if let lastShown, now - lastShown > VideoIntake.freeze { freezes += 1 }
            lastShown = now
        }

        /// A picture has just taken its place in the mix. As long as it is shown, and as long as it stands for, are no
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

    /// What the lane's jobs alone touch.
    private struct Decoding {
        var decoder: VideoDecoder?
        /// What the decoder's memory counts as, and for which size.
        var kept: (pixels: KeptPixels, size: Int)?
        var budget: DecodeBudget
        /// For pictures that are larger than their room.
        var pool: PicturePool?

        mutating func close() {
            decoder = nil
            kept = nil
            pool = nil
        }
    }

    /// Decodes; busy as long as a frame waits.
    let lane: SerialLane
    private let audioDelay: AudioDelay
    private let state = Guarded(State())
    private let decoding: Confined<Decoding>
    private let shared: SharedDecodeBudget
    private let counters: IntakeCounters
    private let shown = Atomic<Bool>(false)
    private let awaitsKeyframe = Atomic<Bool>(true)
    /// Width and height, 32 bits each; 0: not known yet.
    private let canvas = Atomic<Int64>(0)
    /// Until then, in nanoseconds, frames are left out and no keyframe is asked for.
    private let restsUntil = Atomic<Int64>(.min)
    /// Asks the sender for a keyframe; from any thread.
    private let requestKeyframe: @Sendable () -> Void

    init(services: DecodeServices, audioDelay: AudioDelay, requestKeyframe: @escaping @Sendable () -> Void) {
        lane = SerialLane(
            pool: services.pool, meter: services.meter, limit: Self.backlog + 1, slack: SerialLane.slackBehindEncoders,
            hasUntrustedInput: true)
        decoding = Confined(
            Decoding(budget: DecodeBudget(pixelsPerSecond: services.pixelsPerSecond, at: MonotonicClock.now())))
        shared = services.shared
        counters = services.counters
        self.audioDelay = audioDelay
        self.requestKeyframe = requestKeyframe
    }

    var isShown: Bool { shown.load(ordering: .relaxed) }

    /// The canvas of the room, in pixels.
    func setCanvas(width: Int, height: Int) { canvas.store(Int64(width) << 32 | Int64(height), ordering: .relaxed) }

    /// Some picture has a tile for it, or none has: then nothing is decoded, and the decoder's memory is given back.
    func setShown(_ isShown: Bool) {
        let was = shown.exchange(isShown, ordering: .relaxed)
        if isShown, !was {
            awaitsKeyframe.store(true, ordering: .relaxed)
            // Nobody saw it stand while it had no tile.
            state.withLock { $0.lastShown = nil }
            requestKeyframe()
        } else if !isShown, was {
            giveUpWaiting()
            lane.submit { [self] in
                decoding.value.close()
                state.withLock { state in
                    state.pictures.removeWaiting()
                    if state.width * state.height > Self.keptPixels { state.pictures.removeAll() }
                }
            }
        }
    }

    /// A coded frame from the peer, on the loop. Returns whether a keyframe is wanted before the next one is of use.
    func receive(_ frame: ReceivedVideoFrame) -> Bool {
        guard isShown else { return false }
        if frame.arrival.nanoseconds < restsUntil.load(ordering: .relaxed) {
            skip(frames: 1)
            return false
        }
        let waiting = state.withLock { (frames: $0.coded.count, bytes: $0.codedBytes) }
        if waiting.frames >= Self.backlog || waiting.bytes + frame.frame.data.count > Self.backlogBytes {
            counters.count(waiting.frames >= Self.backlog ? .late : .bytes, waiting.frames)
            giveUpWaiting()
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

    /// Forgets the frames that wait: what comes next must be a keyframe.
    private func giveUpWaiting() {
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
        let now = MonotonicClock.now()
        if now - next.arrival > Self.latest { return refuse(.late, at: now) }
        decode(next, at: now)
    }

    /// Leaves out this frame and what refers to it.
    private func refuse(_ refusal: DecodeRefusal, at now: Instant) {
        let until = now + decoding.value.budget.rest(after: refusal, at: now)
        // What it keeps would be of no use meanwhile.
        if refusal == .memory { decoding.value.close() }
        restsUntil.store(until.nanoseconds, ordering: .relaxed)
        let waiting = state.withLock { $0.coded.count }
        skip(frames: 1 + waiting)
        counters.count(refusal, 1 + waiting)
        giveUpWaiting()
    }

    private func decode(_ frame: ReceivedVideoFrame, at now: Instant) {
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
            if let refusal { return refuse(refusal, at: now) }
            guard let decoded else { return }
            counters.decodedFrames.wrappingAdd(1, ordering: .relaxed)
            keep(fitted(decoded, frame.rotation), of: frame, size: (decoded.width, decoded.height))
        } catch {
            // It costs this frame and what refers to it; the last good picture stays.
            counters.count(.fault)
            awaitsKeyframe.store(true, ordering: .relaxed)
            if case CodecError.unsupportedInput = error {
                // It will be no other the next time: what is not decoded is not asked for again and again.
                restsUntil.store((now + .seconds(1)).nanoseconds, ordering: .relaxed)
            } else {
                requestKeyframe()
            }
        }
    }

    private func admit(_ format: VideoFormat, at now: Instant) -> DecodeRefusal? {
        if let refusal = decoding.value.budget.admit(format, shared: shared, at: now) { return refusal }
        guard decoding.value.kept?.size != format.pixels else { return nil }
        // The old decoder goes with its pictures, and makes room.
        decoding.value.kept = nil
        guard let pixels = shared.keep(format) else { return .memory }
        decoding.value.kept = (pixels, format.pixels)
        return nil
    }

    /// A large picture as large as its room can show it: composing, which everyone of the room waits for, then costs
    /// the same as with any other. It still covers the canvas in both directions, whatever part of it a tile shows.
    private func fitted(_ picture: Picture, _ rotation: Rotation) -> Picture {
        guard picture.width * picture.height > SharedDecodeBudget.usualPixels else { return picture }
        let size = canvas.load(ordering: .relaxed)
        let (across, down) = (Double(size >> 32), Double(size & 0xFFFF_FFFF))
        let (width, height) = rotation.isSideways ? (down, across) : (across, down)
        let scale = max(width / Double(picture.width), height / Double(picture.height))
        guard width > 0, scale < 1 else { return picture }
        func even(_ side: Int) -> Int { max(2, Int((Double(side) * scale / 2).rounded(.up)) * 2) }
        let (small, low) = (even(picture.width), even(picture.height))
        let pool =
            decoding.value.pool.flatMap { $0.width == small && $0.height == low ? $0 : nil }
            ?? PicturePool(width: small, height: low)
        decoding.value.pool = pool
        let target = pool.make()
        Scaler.scale(from: picture, into: target, x: 0, y: 0, width: small, height: low)
        return target
    }

    private func keep(_ picture: Picture, of frame: ReceivedVideoFrame, size: (width: Int, height: Int)) {
        let ready = MonotonicClock.now()
        state.withLock { state in
            state.lastArrival = frame.arrival
            let turned = frame.rotation.isSideways
            (state.width, state.height) = turned ? (size.height, size.width) : size
            state.pictures.insert(
                Timed(
                    content: Shown(
                        picture: picture, rotation: frame.rotation,
                        origin: PictureOrigin(arrival: frame.arrival, decoded: ready)),
                    captureTime: frame.captureTime, arrival: frame.arrival),
                bytes: picture.width * picture.height * 3 / 2)
            // Where nobody looks, nobody takes them.
            if state.fresh.count < PictureQueue<Shown>.limit {
                state.fresh.append((frame.captureTime, frame.arrival, frame.isRepaired))
            }
        }
    }

    /// The picture for the tick at `now`.
    func view(at now: Instant) -> View {
        let delay = audioDelay.current(at: now)
        return state.withLock { state in
            for (capture, arrival, isRepaired) in state.fresh {
                audioDelay.picture(of: capture, arrival: arrival, isRepaired: isRepaired, couldBeShownAt: now)
            }
            state.fresh.removeAll(keepingCapacity: true)
            let before = state.pictures.generation
            state.pictures.advance(to: now, audioDelay: delay)
            let current = state.pictures.current
            if state.pictures.generation != before {
                state.measure(delay, at: now)
                state.showed(at: now)
            }
            return View(
                picture: current?.content.picture, rotation: current?.content.rotation ?? .none,
                generation: state.pictures.generation, age: state.lastArrival.map { now - $0 },
                captureTime: current?.captureTime ?? now, origin: current?.content.origin)
        }
    }

    /// Width / height as displayed; 16:9 before the first picture.
    var aspectRatio: Double {
        state.withLock { $0.height > 0 ? Double($0.width) / Double($0.height) : 16.0 / 9 }
    }

    package var size: (width: Int, height: Int) { state.withLock { ($0.width, $0.height) } }
    package var freezes: Int { state.withLock { $0.freezes } }

    /// By how much the sound is ahead of the picture (positive) or behind it, in the mix; zero without one of them.
    package func audioVideoOffset(at now: Instant) -> Duration {
        audioDelay.current(at: now) == nil ? .zero : state.withLock { $0.offset } ?? .zero
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
