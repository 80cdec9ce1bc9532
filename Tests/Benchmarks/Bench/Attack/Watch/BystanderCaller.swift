import Basics
import Call
import Foundation
import Synchronization
import Threads

/// One participant of the call that must not be disturbed: a real client for the media, with signalling on a thread of
/// its own.
final class BystanderCaller: Sendable {
    private struct Tile: Sendable {
        var participant: String
        /// The middle of the tile, in fractions of the canvas.
        var x: Double
        var y: Double
    }

    private struct State: Sendable {
        /// Why the call ended; nil while it goes on.
        var end: String?
        var tiles: [Tile] = []
        /// The participant whose tile is observed.
        var other: String?
    }

    /// The participant's id in the room.
    let id: String
    /// The server's address for media.
    let address: SocketAddress
    let audio: AudioMeter
    let picture: PictureMeter
    private let fleet: Fleet
    private let state: Guard
    private let isOver = Atomic(false)

    /// The state that the client's threads share.
    private final class Guard: Sendable {
        let state = Guarded(State())

        func end(_ reason: String) { state.withLock { $0.end = $0.end ?? reason } }
    }

    /// Joins the call. Blocks the calling thread.
    ///
    /// - Parameter number: 0 or 1: the index of the tone to send; the other tone is measured.
    init(
        _ number: Int, footage: BystanderFootage, server: SocketAddress, source: IPAddress, room: String, token: String?
    ) throws {
        let now = MonotonicClock.now()
        let audio = AudioMeter(tone: BystanderFootage.tones[1 - number], at: now)
        let picture = PictureMeter(at: now)
        let state = Guard()
        let fleet = try Fleet(local: source)
        try fleet.start(
            frames: footage.frames, framesPerSecond: Double(BystanderFootage.framesPerSecond),
            audio: footage.audio[number],
            delay: .milliseconds(number * 16))
        let wire = try SignalWire(to: server, from: source)
        try wire.join(room, as: "Bystander \(number + 1)", extra: token.map { ["token": $0] } ?? [:])
        let offer = try waiting {
            try await fleet.offer(0, codec: .h264, only: true) { event in
                switch event {
                case .audio(let packet): audio.take(packet)
                case .video(let frame): picture.take(frame)
                case .ended(let reason): state.end("media ended: \(reason)")
                case .connected: break
                }
            }
        }
        (self.audio, self.picture, self.state, self.fleet) = (audio, picture, state, fleet)
        guard let address = fleet.address(of: 0) else { throw BenchError("the bystander has no socket") }
        (id, self.address) = (wire.id, address)
        let answer = try wire.answer(to: offer) { kind, message in if kind == "tiles" { take(tiles: message) } }
        try waiting { try await fleet.accept(answer: answer, for: 0) }
        try wire.send(["type": "state", "audio": true, "video": true])
        let socket = Opening(wire)
        DedicatedThread.start("signalling") { [self] in follow(socket.value) }
    }

    /// Why the call ended; nil while it goes on.
    var end: String? { state.state.withLock { $0.end } }

    /// Sets the participant whose tile is observed.
    func watch(_ other: String) {
        state.state.withLock { $0.other = other }
        look()
    }

    func leave() {
        isOver.store(true, ordering: .relaxed)
        fleet.stop()
    }

    private func follow(_ wire: SignalWire) {
        while !isOver.load(ordering: .relaxed) {
            switch wire.next(timeout: .milliseconds(500)) {
            case .nothing: continue
            case .closed(let reason): return state.end("signalling ended: \(reason)")
            case .text(let text):
                let message = SignalWire.object(text)
                switch message["type"] as? String {
                case "tiles": take(tiles: message)
                case "left": return state.end("sent away: \(message["reason"] as? String ?? "")")
                default: break
                }
            }
        }
    }

    private func take(tiles message: [String: Any]) {
        func number(_ object: [String: Any], _ key: String) -> Double { (object[key] as? NSNumber)?.doubleValue ?? 0 }
        let width = number(message, "width"), height = number(message, "height")
        guard let list = message["tiles"] as? [[String: Any]], width > 0, height > 0 else { return }
        let tiles = list.map { tile in
            Tile(
                participant: tile["participant"] as? String ?? "",
                x: (number(tile, "x") + number(tile, "width") / 2) / width,
                y: (number(tile, "y") + number(tile, "height") / 2) / height)
        }
        state.state.withLock { $0.tiles = tiles }
        look()
    }

    private func look() {
        let tile = state.state.withLock { state in state.tiles.first { $0.participant == state.other } }
        if let tile { picture.look(at: tile.x, tile.y) }
    }
}
