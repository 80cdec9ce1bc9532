import Basics
import Call
import Foundation
import Peer

/// Two callers who stay from the start to the end, flash and beep half a second apart, and watch each other: what they
/// see and hear is what the others' coming and going must not disturb. One of them speaks H.264, the other VP8.
struct SoakPair: Sendable {
    static let room = "lips"

    let address: SignallingAddress
    /// A thread of their own: what the crowd's costs is not the server's fault.
    let crowd: Crowd
    let watches = [LipWatch(), LipWatch()]

    init(address: SignallingAddress) throws {
        self.address = address
        crowd = try Crowd(places: 2, named: "pair")
    }

    /// Until it is cancelled; throws when the server ends it.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for place in 0..<2 { group.addTask { try await stay(place) } }
            try await group.next()
        }
    }

    /// Waits until both see flashes and hear beeps.
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
