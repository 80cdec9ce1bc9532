import Basics
import Call
import Peer
import Threads

/// A participant who joins a room by the native signalling and stays until the task is cancelled.
struct ScaleGuest: Sendable {
    let place: Int
    let room: String
    var role = "participant"
    let address: SignallingAddress
    let crowd: Crowd
    let source: SoakSource
    let options: Crowd.Options
    /// Called once, with the milliseconds from the join to the first complete keyframe.
    var firstPicture: (@Sendable (Double) -> Void)?

    /// - Throws: the fault; `CancellationError` when the time is over.
    func run() async throws {
        try await SignallingClient.withConnection(to: address, decode: SoakMessage.init(json:)) { messages, sender in
            let start = MonotonicClock.now()
            let isSeen = Guarded(false)
            try await sender.send(["type": "join", "room": room, "name": "Guest \(place)", "role": role])
            for await message in messages {
                switch message {
                case .joined:
                    let offer = try await crowd.enter(place, options, source: source) { [firstPicture] event in
                        guard case .video(let frame) = event, frame.frame.isKeyframe, let firstPicture else { return }
                        let isLate = isSeen.withLock { isSeen in
                            defer { isSeen = true }
                            return isSeen
                        }
                        guard !isLate else { return }
                        firstPicture((MonotonicClock.now() - start).inMilliseconds)
                    }
                    try await sender.send(["type": "offer", "sdp": offer])
                case .answer(let sdp): try await crowd.accept(sdp, at: place)
                case .left(let reason): throw BenchError("guest \(place) was sent away: \(reason)")
                case .error(let code, let text, _): throw BenchError("guest \(place): \(text) (\(code))")
                case .tiles, .other: break
                }
            }
            try Task.checkCancellation()
            throw BenchError("the server closed the signalling of guest \(place)")
        }
    }
}
