import Basics
import Codecs
import Sockets
import Peer
import Synchronization

/// From one participant's coded frames to the picture that its tile shows.
///
/// Frames come on the loop, are decoded in a lane of the pool, and pictures are taken by the compose lanes of the views.
final class VideoIntake: Sendable {
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
    /// More frames than that behind, and the rest is given up for a keyframe.
    private static let backlog = 45

    private struct State {
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

        /// A picture has just taken its place in the mix. As long as it is shown, and as long as it stands for, are no offset.
        mutating func measure(_ soundDelay: Duration?, at now: Instant) {
            guard let soundDelay, let capture = pictures.current?.captureTime else {
                offset = nil
                return
            }
            let sample = (now - soundDelay) - capture
            offset = offset.map { $0 + (sample - $0) / 16 } ?? sample
        }
    }

    private struct Shown: Sendable {
        var picture: Picture
        var rotation: Rotation
        var origin: PictureOrigin
    }

    private let lane: SerialLane
    private let soundDelay: SoundDelay
    private let state = Mutex(State())
    /// Touched by the lane's jobs only.
    private let decoder = Confined<VideoDecoder?>(nil)
    private let shown = Atomic<Bool>(false)
    private let awaitsKeyframe = Atomic<Bool>(true)
    /// Asks the sender for a keyframe; from any thread.
    private let requestKeyframe: @Sendable () -> Void

    let decodedFrames = Atomic<Int>(0)
    let failures = Atomic<Int>(0)

    init(pool: WorkPool, meter: StageMeter, soundDelay: SoundDelay, requestKeyframe: @escaping @Sendable () -> Void) {
        lane = SerialLane(pool: pool, meter: meter, limit: Self.backlog + 1, patience: SerialLane.behindEncoders)
        self.soundDelay = soundDelay
        self.requestKeyframe = requestKeyframe
    }

    var isShown: Bool { shown.load(ordering: .relaxed) }

    /// Some picture has a tile for it, or none has: then nothing is decoded.
    func setShown(_ isShown: Bool) {
        let was = shown.exchange(isShown, ordering: .relaxed)
        if isShown, !was {
            awaitsKeyframe.store(true, ordering: .relaxed)
            // Nobody saw it stand while it had no tile.
            state.withLock { $0.lastShown = nil }
            requestKeyframe()
        } else if !isShown, was {
            lane.removeAll()
            awaitsKeyframe.store(true, ordering: .relaxed)
        }
    }

    /// A coded frame from the peer, on the loop. Returns whether a keyframe is wanted before the next one is of use.
    func receive(_ frame: ReceivedVideoFrame) -> Bool {
        guard isShown else { return false }
        if lane.waiting >= Self.backlog {
            lane.removeAll()
            awaitsKeyframe.store(true, ordering: .relaxed)
        }
        if awaitsKeyframe.load(ordering: .relaxed) {
            guard frame.frame.isKeyframe else { return true }
            awaitsKeyframe.store(false, ordering: .relaxed)
        }
        lane.submit { [self] in decode(frame) }
        return false
    }

    private func decode(_ frame: ReceivedVideoFrame) {
        do {
            if decoder.value?.codec != frame.frame.codec { decoder.value = try VideoDecoder(codec: frame.frame.codec) }
            guard let picture = try decoder.value?.decode(frame.frame) else { return }
            decodedFrames.wrappingAdd(1, ordering: .relaxed)
            let ready = MonotonicClock.now()
            state.withLock { state in
                state.lastArrival = frame.arrival
                let turned = frame.rotation.isSideways
                (state.width, state.height) = turned ? (picture.height, picture.width) : (picture.width, picture.height)
                state.pictures.insert(
                    Timed(
                        content: Shown(
                            picture: picture, rotation: frame.rotation,
                            origin: PictureOrigin(arrival: frame.arrival, decoded: ready)),
                        captureTime: frame.captureTime, arrival: frame.arrival))
                // Where nobody looks, nobody takes them.
                if state.fresh.count < PictureQueue<Shown>.limit { state.fresh.append((frame.captureTime, frame.arrival, frame.isRepaired)) }
            }
        } catch {
            // It costs this frame and what refers to it; the last good picture stays.
            failures.wrappingAdd(1, ordering: .relaxed)
            awaitsKeyframe.store(true, ordering: .relaxed)
            requestKeyframe()
        }
    }

    /// The picture for the tick at `now`.
    func view(at now: Instant) -> View {
        let delay = soundDelay.current(at: now)
        return state.withLock { state in
            for (capture, arrival, isRepaired) in state.fresh {
                soundDelay.picture(of: capture, arrival: arrival, isRepaired: isRepaired, couldBeShownAt: now)
            }
            state.fresh.removeAll(keepingCapacity: true)
            let before = state.pictures.generation
            state.pictures.advance(to: now, soundDelay: delay)
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

    var size: (width: Int, height: Int) { state.withLock { ($0.width, $0.height) } }
    var freezes: Int { state.withLock { $0.freezes } }

    /// By how much the sound is ahead of the picture (positive) or behind it, in the mix; zero without one of them.
    func audioVideoOffset(at now: Instant) -> Duration {
        soundDelay.current(at: now) == nil ? .zero : state.withLock { $0.offset } ?? .zero
    }

    func close() {
        shown.store(false, ordering: .relaxed)
        lane.close()
    }
}
