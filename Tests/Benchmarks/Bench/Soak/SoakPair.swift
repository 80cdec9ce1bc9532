import Basics
import Call
import Foundation
import Peer

/// Two callers who stay from the start to the end, flash and beep half a second apart, and watch each other: the joins
/// and leaves of the others must not disturb their media. One of them uses H.264, the other VP8.
struct SoakPair: Sendable {
    static let room = "lips"

    let address: SignallingAddress
    /// The crowd of the pair has a thread of its own, so that the load of the other crowd does not affect the
    /// measurement.
    let crowd: Crowd
    let watches = [LipWatch(), LipWatch()]

    init(address: SignallingAddress) throws {
        self.address = address
        crowd = try Crowd(places: 2, named: "pair")
    }

    /// Runs until the task is cancelled; throws when the server ends a call.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for place in 0..<2 { group.addTask { try await stay(place) } }
            try await group.next()
        }
    }

    /// Waits until both receive flashes and beeps.
    func ready() async throws {
        for _ in 0..<60 {
            try await Task.sleep(for: .milliseconds(500))
            if watches.allSatisfy({ !$0.read().offsets.isEmpty }) { return }
        }
        throw BenchError("the pair does not see and hear each other")
    }

    private func stay(_ place: Int) async throws {
        let codec = place == 0 ? VideoCodec.h264 : .vp8
        let watch = watches[place]
        let source = try FlashAndBeep.source(codec, isOffset: place == 1)
        try await SignallingClient.withConnection(to: address, decode: SoakMessage.init(json:)) { messages, sender in
            try await sender.send(["type": "join", "room": Self.room, "name": "Pair \(place + 1)"])
            var own = ""
            for await message in messages {
                switch message {
                case .joined(let id, _):
                    own = id
                    let offer = try await crowd.enter(place, Crowd.Options(codec: codec), source: source) {
                        watch.take($0)
                    }
                    try await sender.send(["type": "offer", "sdp": offer])
                    try await sender.send(["type": "state", "audio": true, "video": true, "hand": false])
                case .answer(let sdp): try await crowd.accept(sdp, at: place)
                case .tiles(let tiles):
                    if let other = tiles.first(where: { $0.participant != own }) { watch.look(at: other.area) }
                case .left(let reason): throw BenchError("the pair was sent away: \(reason)")
                case .error(let code, let text, _): throw BenchError("the pair: \(text) (\(code))")
                case .other: break
                }
            }
            try Task.checkCancellation()
            throw BenchError("the server closed the pair's signalling")
        }
    }
}
