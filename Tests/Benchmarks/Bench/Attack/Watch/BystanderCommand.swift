import ArgumentParser
import Basics
import Call
import Foundation
import Peer
import Synchronization
import Threads

/// The call that must not be disturbed, in a process of its own so that the attackers' work does not delay it;
/// `bench attack` starts it.
struct BystanderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bystander", abstract: "Holds a call of two on a server and tells its longest gaps.",
        discussion: """
            Prints a line of JSON when both callers hear and see each other, then reads commands, one a line: "mark" begins the gaps anew, "read" \
            prints them, "newcomer" joins a second room and prints how long that took; the end of the input ends it.
            """, shouldDisplay: false)

    @Option(help: "The server, HOST:PORT.")
    var http: String

    @Option(help: "A token, for servers that ask for one.")
    var token: String?

    func run() throws {
        guard let server = SocketAddress(http) else {
            throw ValidationError("--http is HOST:PORT with a numeric address")
        }
        let watch: BystanderWatch
        do {
            watch = try BystanderWatch(server, token: token)
            try watch.settle()
        } catch {
            say(BystanderReading.Ready(addresses: [], fault: "\(error)"))
            return
        }
        say(BystanderReading.Ready(addresses: watch.callers.map { "\($0.address)" }))
        watch.startChecks()
        while let line = readLine() {
            switch line {
            case "mark": watch.mark()
            case "read": say(watch.read())
            case "newcomer": say(watch.newcomer())
            default: break
            }
        }
        for caller in watch.callers { caller.leave() }
        usleep(100_000)
    }

    private func say(_ value: some Encodable) {
        let text = (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }
}

/// The callers, the health checks and the newcomers.
private final class BystanderWatch: Sendable {
    private struct Checks {
        var count = 0
        var failed = 0
        var slowest = 0.0
    }

    let callers: [BystanderCaller]
    private let server: SocketAddress
    private let token: String?
    private let footage: BystanderFootage
    private let checks = Guarded(Checks())
    /// The room of the newcomers, so that the bystanders' picture does not change.
    private static let lobby = "lobby"
    private static let room = "calm"

    init(_ server: SocketAddress, token: String?) throws {
        (self.server, self.token) = (server, token)
        footage = try BystanderFootage()
        let wire = HTTPWire(server: server, source: .loopback(0, 4))
        // A small picture, because the measurement concerns the server's work for others, not for this call.
        for room in [Self.room, Self.lobby] {
            _ = try wire.request("PUT", "/api/rooms/\(room)", json: #"{"width":640,"height":360}"#)
        }
        var callers: [BystanderCaller] = []
        for number in 0..<2 {
            callers.append(
                try BystanderCaller(
                    number, footage: footage, server: server, source: .loopback(0, 2 + number), room: Self.room,
                    token: token))
        }
        callers[0].watch(callers[1].id)
        callers[1].watch(callers[0].id)
        self.callers = callers
    }

    /// Waits for a second without a notable gap.
    func settle() throws {
        let end = MonotonicClock.now() + .seconds(20)
        while MonotonicClock.now() < end {
            mark()
            usleep(1_000_000)
            let now = MonotonicClock.now()
            if callers.allSatisfy({ $0.audio.read(at: now).gap < 100 && $0.picture.read(at: now) < 200 }) { return }
            if let reason = callers.lazy.compactMap(\.end).first { throw WireError(reason) }
        }
        let now = MonotonicClock.now()
        let gaps = callers.map { "\(Int($0.audio.read(at: now).gap)) / \(Int($0.picture.read(at: now)))" }
        throw WireError("the call does not come to rest: gaps of \(gaps.joined(separator: ", ")) ms")
    }

    func mark() {
        for caller in callers {
            caller.audio.mark()
            caller.picture.mark()
        }
        checks.withLock { $0 = Checks() }
    }

    func read() -> BystanderReading {
        let now = MonotonicClock.now()
        let audio = callers.map { $0.audio.read(at: now) }
        let checks = checks.withLock { $0 }
        let turn = loopTurn()
        return BystanderReading(
            audioGap: audio.map(\.gap).max() ?? 0, pictureGap: callers.map { $0.picture.read(at: now) }.max() ?? 0,
            packetsLost: audio.map(\.lost).max() ?? 0, checks: checks.count, failedChecks: checks.failed,
            slowestCheck: checks.slowest,
            loopTurn: turn.wall, loopTurnProcessor: turn.processor, end: callers.lazy.compactMap(\.end).first)
    }

    /// In milliseconds: elapsed time and processor time.
    private func loopTurn() -> (wall: Double?, processor: Double?) {
        let wire = HTTPWire(server: server, source: .loopback(0, 4))
        guard let answer = try? wire.request("GET", "/metrics", timeout: .seconds(2)), answer.status == 200 else {
            return (nil, nil)
        }
        let turns = ServerMetrics(answer.text).gauges.filter {
            $0.key.hasPrefix("tessera_loop_turn_longest_seconds{") && $0.key.contains("window=\"15s\"")
        }
        func value(_ clock: String) -> Double? {
            turns.first { $0.key.contains("clock=\"\(clock)\"") }.map { $0.value * 1000 }
        }
        return (value("wall"), value("cpu"))
    }

    /// Requests `/healthz` twice a second until the process ends.
    func startChecks() {
        DedicatedThread.start("checks") { [self] in
            let wire = HTTPWire(server: server, source: .loopback(0, 4))
            while true {
                let start = MonotonicClock.now()
                let status = (try? wire.request("GET", "/healthz", timeout: .seconds(1)))?.status
                let time = (MonotonicClock.now() - start).inMilliseconds
                checks.withLock {
                    $0.count += 1
                    $0.slowest = max($0.slowest, time)
                    if status != 200 { $0.failed += 1 }
                }
                usleep(500_000)
            }
        }
    }

    /// A newcomer joins the lobby, and leaves after receiving video and audio.
    func newcomer() -> BystanderReading.Newcomer {
        let start = MonotonicClock.now()
        let arrived = Arrivals()
        do {
            let source = IPAddress.loopback(0, 5)
            let fleet = try Fleet(local: source)
            defer { fleet.stop() }
            try fleet.start(
                frames: footage.frames, framesPerSecond: Double(BystanderFootage.framesPerSecond),
                audio: footage.audio[0])
            let wire = try SignalWire(to: server, from: source, timeout: .seconds(10))
            try wire.join(Self.lobby, as: "Newcomer", extra: token.map { ["token": $0] } ?? [:])
            let offer = try waiting {
                try await fleet.offer(0, codec: .h264, only: true) { event in
                    switch event {
                    case .video(let frame) where frame.frame.isKeyframe: arrived.add(1)
                    case .audio: arrived.add(2)
                    default: break
                    }
                }
            }
            let answer = try wire.answer(to: offer, timeout: .seconds(10))
            try waiting { try await fleet.accept(answer: answer, for: 0) }
            while arrived.all != 3 {
                guard MonotonicClock.now() - start < .seconds(10) else {
                    return .init(
                        milliseconds: -1,
                        fault: "joined, but no \(arrived.all & 1 == 0 ? "picture" : "sound") within 10 s")
                }
                usleep(5000)
            }
            let time = (MonotonicClock.now() - start).inMilliseconds
            try? wire.send(["type": "leave"])
            return .init(milliseconds: time)
        } catch {
            return .init(milliseconds: -1, fault: "\(error)")
        }
    }

    /// The received media as bits.
    private final class Arrivals: Sendable {
        private let bits = Atomic(0)
        func add(_ bit: Int) { bits.bitwiseOr(bit, ordering: .relaxed) }
        var all: Int { bits.load(ordering: .relaxed) }
    }
}
