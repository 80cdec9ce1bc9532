import Basics
import Codecs
import Dispatch
import RoomMedia
import Threads

/// PNG pictures of rooms: one for all who ask within half a second, made one at a time by the pool.
final class Snapshots: Sendable {
    typealias Answer = Result<[UInt8], ConferenceError>

    /// A picture serves so long.
    static let lifetime = Duration.milliseconds(500)
    /// So many may wait for one picture, and so many pictures may be in the making: what is asked for beyond is
    /// refused.
    static let waitersPerRoom = 64
    static let rooms = 16

    private struct Entry {
        /// Names the picture that is being made.
        var ticket: Int
        var png: [UInt8] = []
        var madeAt: Instant?
        var waiters: [@Sendable (Answer) -> Void] = []
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var tickets = 0

        mutating func forgetOld(at now: Instant) {
            entries = entries.filter { _, entry in
                !entry.waiters.isEmpty || entry.madeAt.map { now - $0 < Snapshots.lifetime } ?? false
            }
        }
    }

    private let state = Guarded(State())
    private let lane: SerialLane

    init(pool: WorkPool, meter: StageMeter) {
        // A PNG takes as long as its picture is large: like a decode, it leaves a thread to the rest.
        lane = SerialLane(
            pool: pool, meter: meter, limit: Self.rooms, slack: SerialLane.slackBehindEncoders, hasUntrustedInput: true)
    }

    /// The room's picture as it is now.
    func png(of room: String, _ engine: RoomEngine) async throws(ConferenceError) -> [UInt8] {
        let answer = await withCheckedContinuation { (continuation: CheckedContinuation<Answer, Never>) in
            let ticket = ask(room, at: MonotonicClock.now()) { continuation.resume(returning: $0) }
            guard let ticket else { return }
            let end = engine.snapshot { [self] in picture($0, of: room, ticket: ticket) }
            // A room that ends just now has no next tick.
            DispatchQueue.global().asyncAfter(deadline: .now() + 2) { [self] in
                end()
                fail(room, ticket: ticket, .internalFailure("The picture of room “\(room)” did not come in time."))
            }
        }
        return try answer.get()
    }

    /// Gives the room's picture to `answer`: that of just now, or that which is being made. Returns a ticket where the
    /// caller must have one made, with `picture` or `fail` at the end.
    func ask(_ room: String, at now: Instant, answer: @escaping @Sendable (Answer) -> Void) -> Int? {
        let (ready, ticket): (Answer?, Int?) = state.withLock { state in
            state.forgetOld(at: now)
            if let entry = state.entries[room] {
                if entry.waiters.isEmpty { return (.success(entry.png), nil) }
                if entry.waiters.count >= Self.waitersPerRoom { return (.failure(Self.tooMany), nil) }
                state.entries[room]?.waiters.append(answer)
                return (nil, nil)
            }
            if state.entries.values.count(where: { !$0.waiters.isEmpty }) >= Self.rooms {
                return (.failure(Self.tooMany), nil)
            }
            state.tickets += 1
            state.entries[room] = Entry(ticket: state.tickets, waiters: [answer])
            return (nil, state.tickets)
        }
        if let ready { answer(ready) }
        return ticket
    }

    private static let tooMany = ConferenceError.tooFast(
        "Too many pictures are asked for: try again in a second.", retryAfter: .seconds(1))

    /// The room's picture is there: it becomes a PNG in the pool.
    func picture(_ picture: Picture, of room: String, ticket: Int) {
        lane.submit { [self] in
            do throws(CodecError) {
                finish(room, ticket, .success(try picture.pngData()))
            } catch {
                finish(room, ticket, .failure(.internalFailure("\(error)")))
            }
        }
    }

    /// There is no picture. Without effect where there was one.
    func fail(_ room: String, ticket: Int, _ error: ConferenceError) { finish(room, ticket, .failure(error)) }

    /// Gives back the memory of pictures that serve nobody any more.
    func forgetOld(at now: Instant) { state.withLock { $0.forgetOld(at: now) } }

    private func finish(_ room: String, _ ticket: Int, _ answer: Answer) {
        let waiters = state.withLock { state -> [@Sendable (Answer) -> Void] in
            guard let entry = state.entries[room], entry.ticket == ticket, !entry.waiters.isEmpty else { return [] }
            if case .success(let png) = answer {
                state.entries[room] = Entry(ticket: ticket, png: png, madeAt: MonotonicClock.now())
            } else {
                state.entries[room] = nil
            }
            return entry.waiters
        }
        for waiter in waiters { waiter(answer) }
    }
}
