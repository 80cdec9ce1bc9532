import Basics
import Conference
import Threads
import WebServer

/// Limits wrong PINs: by address and room, where who tries on is refused, right or wrong; and of all addresses together
/// by room, where every try waits for its turn (`PINQueue`).
final class PINLimiter: Sendable {
    private struct Key: Hashable {
        var address: IPAddress
        var room: String
    }

    private struct State {
        var rooms: [String: PINQueue] = [:]
        var wrong = 0
        var refused: [Reason: Int] = [:]
    }

    /// Why a try is refused; the label of the metric.
    private enum Reason: String, CaseIterable { case address, queue }

    /// Wrong PINs of an address at once, and a second: people mistype, a thousand tries take three hours.
    private static let burst = 10.0
    private static let rate = 0.1
    /// Rooms with queues of their own; further ones share one, so that clients cannot fill the memory.
    private static let maxRooms = 2000

    private let tries: BucketTable<Key>
    private let state = Guarded(State())
    private let clock: @Sendable () -> Instant
    /// Called with a room and the number of wrong PINs where they are so many that tries wait.
    private let report: @Sendable (String, Int) -> Void

    init(
        clock: @escaping @Sendable () -> Instant = { MonotonicClock.now() },
        report: @escaping @Sendable (String, Int) -> Void = { _, _ in }
    ) {
        self.clock = clock
        self.report = report
        tries = BucketTable(rate: Self.rate, burst: Self.burst, at: clock())
    }

    /// Joins when it is the client's turn; a join with a wrong PIN counts. One without a PIN tells nothing, and is not
    /// limited.
    func join<Value>(_ request: AdmittedJoin, _ join: (AdmittedJoin) async throws -> Value) async throws -> Value {
        let address = request.client.address ?? .v4(0)
        guard request.pin?.isEmpty == false else {
            let value = try await join(request)
            change(request.room) { $0.welcome(address, at: clock()) }
            return value
        }
        let key = Key(address: address.clientPrefix, room: request.room)
        // Taken before the try, so that tries at the same time count too.
        let wait = tries.take(key, at: clock())
        guard wait == .zero else {
            throw refusal(.address, "too many wrong PINs from here", retryAfter: wait)
        }
        var outcome = PINQueue.Outcome.other
        defer { if outcome != .wrong { tries.refund(key, at: clock()) } }
        let lane = try await turn(of: address, in: request.room)
        defer { end(request, address, lane, outcome) }
        do {
            let value = try await join(request)
            outcome = .right
            return value
        } catch {
            if Refusal(any: error).code == .wrongPIN { outcome = .wrong }
            throw error
        }
    }

    /// Waits for the client's turn.
    ///
    /// - Throws: `too_fast` where it does not come.
    private func turn(of address: IPAddress, in room: String) async throws -> PINQueue.Lane {
        let sorry = "many wrong PINs are tried at this room: try again in a moment"
        guard let id = change(room, { $0.ask(address, at: clock()) }) else {
            throw refusal(.queue, sorry, retryAfter: .seconds(3))
        }
        while true {
            let (turn, wrong) = change(room) { ($0.turn(of: id, at: clock()), $0.report(at: clock())) }
            if let wrong { report(room, wrong) }
            switch turn {
            case .now(let lane): return lane
            case .refuse: throw refusal(.queue, sorry, retryAfter: .seconds(3))
            case .wait(let duration):
                do {
                    try await Task.sleep(for: duration)
                } catch {
                    change(room) { $0.leave(id) }
                    throw error
                }
            }
        }
    }

    private func end(
        _ request: AdmittedJoin, _ address: IPAddress, _ lane: PINQueue.Lane, _ outcome: PINQueue.Outcome
    ) {
        change(request.room) { $0.end(address, lane, outcome, at: clock()) }
        if outcome == .wrong { state.withLock { $0.wrong += 1 } }
    }

    private func refusal(_ reason: Reason, _ words: String, retryAfter: Duration) -> Refusal {
        state.withLock { $0.refused[reason, default: 0] += 1 }
        return Refusal(.tooFast, words, retryAfter: retryAfter)
    }

    @discardableResult
    private func change<Result>(_ room: String, _ body: (inout PINQueue) -> Result) -> Result {
        state.withLock { state in
            var room = room
            if state.rooms[room] == nil, state.rooms.count >= Self.maxRooms {
                let now = clock()
                state.rooms = state.rooms.filter { !$0.value.isIdle(at: now) }
                // No room has this name.
                if state.rooms.count >= Self.maxRooms { room = "" }
            }
            return body(&state.rooms[room, default: PINQueue(at: clock())])
        }
    }

    var samples: [MetricSample] {
        let (waiting, wrong, refused) = state.withLock { state in
            (state.rooms.values.reduce(0) { $0 + $1.count }, state.wrong, state.refused)
        }
        return [
            MetricSample(
                "tessera_pins_waiting", "Tries of a PIN that wait for their turn.", .gauge, Double(waiting)),
            MetricSample("tessera_pins_wrong_total", "Wrong PINs.", .counter, Double(wrong)),
        ]
            + Reason.allCases.map { reason in
                MetricSample(
                    "tessera_pins_refused_total",
                    "Tries of a PIN that were refused unread, for their address or since others came first.",
                    .counter, Double(refused[reason] ?? 0), labels: ["reason": reason.rawValue])
            }
    }
}
