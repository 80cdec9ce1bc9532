import Basics
import FoundationEssentials
import RoomMedia
import Streaming
import Threads

/// A room's stream for players of HLS (`RoomSettings.hls`): a tap of its view while somebody is in the room.
///
/// The stream stays the same while people come and go; without anybody it rests, and nothing is encoded for it.
final class RoomHLS: Sendable {
    /// Keyframes at the stream's target; and a frame every tenth of a second, since a frame is kept back until the next
    /// one comes.
    private static let needs = TapNeeds(keyframeInterval: .seconds(HLSLimits.targetSeconds), framesPerSecond: 10)

    let stream: HLSStream
    private let engine: RoomEngine
    private let state: Guarded<State>
    /// Asks the running tap for a keyframe.
    private let tap: Guarded<RoomTap?>

    private struct State {
        /// nil: nobody is in the room.
        var view: ViewID?
        /// Differs for each tap.
        var taps = 0
    }

    /// - Throws: `CodecError` without an AAC encoder.
    init(memory: HLSMemory, engine: RoomEngine) throws {
        self.engine = engine
        let tap = Guarded<RoomTap?>(nil)
        self.tap = tap
        state = Guarded(State())
        let now = MonotonicClock.now()
        stream = try HLSStream(
            id: RandomToken.make(16), epoch: Date().timeIntervalSince1970 - (now - .zero).inSeconds, memory: memory
        ) { tap.withLock { $0 }?.requestKeyframe(isUrgent: true) }
    }

    /// The view whose picture it takes; nil while it rests.
    var view: ViewID? { state.withLock { $0.view } }

    /// Sets the view whose picture it takes; nil: it rests. `attach` begins to take the picture.
    func follow(_ view: ViewID?) {
        let isChanged = state.withLock { state in
            defer { state.view = view }
            return state.view != view
        }
        guard isChanged else { return }
        tap.withLock { tap in
            defer { tap = nil }
            return tap
        }?.end()
        if view == nil { stream.rest() } else { stream.resume() }
    }

    /// Begins to take the picture, where it does not yet. The engine's scene uses the view already.
    func attach() {
        guard tap.withLock({ $0 }) == nil else { return }
        let next = state.withLock { state -> (name: String, view: ViewID)? in
            guard let view = state.view else { return nil }
            state.taps += 1
            return ("hls-\(state.taps)", view)
        }
        guard let next else { return }
        let stream = stream
        let taken = engine.tap(
            next.name, next.view, needs: Self.needs, video: { stream.append($0) },
            audio: { stream.append(audio: $0, timestamp: $1) })
        tap.withLock { $0 = taken }
    }

    /// Ends the stream for its readers.
    func end() {
        follow(nil)
        stream.end()
    }
}
