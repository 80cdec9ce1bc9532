import Basics
import Codecs
import Peer
import Synchronization

/// The source of a rendition whose frames are a sender's own: takes them from the sender's intake, has them checked, and
/// asks the sender for keyframes and for a rate that the members' links carry.
final class Forwarding: Sendable {
    /// What a forwarded picture's sender is asked for, and what is told of the end.
    struct Services: Sendable {
        /// Requests a keyframe from the sender. Called on any thread.
        var requestKeyframe: @Sendable () -> Void
        /// Asks the sender for at most this bit rate, for this owner; nil: for what the tiles and other owners need.
        var limit: @Sendable (ObjectIdentifier, BitRate?) -> Void
        /// The frames do not go on as they came.
        var ended: @Sendable (ForwardedStream.Fault) -> Void
    }

    /// A new limit is told when it is lower by this factor, or higher by the other one.
    private static let (fall, rise) = (0.97, 1.05)

    private struct State {
        var stream: ForwardedStream
        var limit: BitRate?
        /// The delay of the sender's audio in the mix, which its pictures are shown with.
        var audioDelay = Duration.zero
        var hasEnded = false
    }

    private let intake: VideoIntake
    private let services: Services
    private let counters: IntakeCounters
    private let state: Guarded<State>

    init(_ stream: ForwardedStream, of intake: VideoIntake, _ services: Services, counters: IntakeCounters) {
        (self.intake, self.services, self.counters) = (intake, services, counters)
        state = Guarded(State(stream: stream))
    }

    /// Takes the sender's frames for a rendition, as long as that is open.
    func begin(_ rendition: Rendition) {
        intake.addForward(
            ObjectIdentifier(self),
            VideoIntake.Forward(
                take: { [weak rendition] in rendition?.forward($0, audioDelay: $1) ?? false },
                failed: { [weak self] in self?.end(.decoding) }))
    }

    func close() {
        intake.removeForward(ObjectIdentifier(self))
        // Told within the lock, here and in `follow`: the last word is the last change's, whichever thread it is on.
        state.withLock { state in
            state.hasEnded = true
            if state.limit != nil { services.limit(ObjectIdentifier(self), nil) }
            state.limit = nil
        }
    }

    /// The size of the forwarded picture; nil before the first frame went on.
    var size: (width: Int, height: Int)? {
        state.withLock { $0.stream.isRunning ? $0.stream.size : nil }
    }

    /// Whether frames went on, and the last came so long ago.
    func isSilent(for time: Duration, at now: Instant) -> Bool {
        state.withLock { state in
            state.stream.isRunning && state.stream.lastArrival.map { now - $0 > time } ?? false
        }
    }

    func requestKeyframe(at now: Instant) {
        if state.withLock({ $0.stream.requestKeyframe(at: now) }) { services.requestKeyframe() }
    }

    /// - Parameter least: what the weakest member's link leaves for the frames.
    func follow(_ least: BitRate?) {
        guard let least else { return }
        state.withLock { state in
            if state.hasEnded { return }
            if let limit = state.limit, least >= limit * Self.fall, least <= limit * Self.rise { return }
            state.limit = least
            services.limit(ObjectIdentifier(self), least)
        }
    }

    /// Takes a frame of the sender, on its loop.
    ///
    /// - Returns: the frame as it goes on with its time in the room, if it does, and whether a keyframe is needed.
    func take(
        _ received: ReceivedVideoFrame, audioDelay: Duration?, budget: BitRate
    ) -> (frame: EncodedVideoFrame?, needsKeyframe: Bool) {
        var fault: ForwardedStream.Fault?
        let result = state.withLock { state -> (EncodedVideoFrame?, Bool) in
            if state.hasEnded { return (nil, false) }
            state.audioDelay = audioDelay ?? state.audioDelay
            let (verdict, requests) = state.stream.take(received, budget: budget)
            switch verdict {
            case .forward(var frame):
                // The receiver shows picture and audio of one time together.
                frame.timestamp = (received.captureTime + state.audioDelay).ticks(at: 90_000)
                counters.forwardedFrames.wrappingAdd(1, ordering: .relaxed)
                return (frame, requests)
            case .hold: return (nil, requests)
            case .end(let why):
                fault = why
                return (nil, false)
            }
        }
        if let fault { end(fault) }
        return result
    }

    func end(_ fault: ForwardedStream.Fault) {
        let isFirst = state.withLock { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
        guard isFirst else { return }
        counters.count(fault)
        services.ended(fault)
    }
}
