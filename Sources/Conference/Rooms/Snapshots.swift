import Basics
import Codecs
import Dispatch
import RoomMedia
import Threads

/// PNG pictures of rooms: one for all requests within half a second, made one at a time by the pool.
final class Snapshots: Sendable {
    typealias Answer = Result<[UInt8], ConferenceError>

    /// How long a picture is reused.
    static let lifetime = Duration.milliseconds(500)
    /// The most requests that wait for one picture, and the most pictures in the making: further requests are refused.
    static let waitersPerRoom = 64
    static let rooms = 16

    struct Key: Hashable, Sendable {
        var room: String
        var view = ViewSettings.main
    }

    private struct Entry {
        /// Identifies the picture that is being made.
        var ticket: Int
        var png: [UInt8] = []
        var madeAt: Instant?
        var waiters: [@Sendable (Answer) -> Void] = []
    }

    private struct State {
        var entries: [Key: Entry] = [:]
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
        // Encoding a large picture takes long, so these jobs, like decodes, leave one thread of the pool to others.
        lane = SerialLane(
            pool: pool, meter: meter, limit: Self.rooms, slack: SerialLane.slackBehindEncoders, hasUntrustedInput: true)
    }

    /// The current picture of a view of the room, which the scene must use.
    func png(of room: String, _ view: ViewID, _ engine: RoomEngine) async throws(ConferenceError) -> [UInt8] {
        let answer = await withCheckedContinuation { (continuation: CheckedContinuation<Answer, Never>) in
            let key = Key(room: room, view: view.name)
            let ticket = ask(key, at: MonotonicClock.now()) { continuation.resume(returning: $0) }
            guard let ticket else { return }
            let end = engine.snapshot(of: view) { [self] in picture($0, of: key, ticket: ticket) }
            // A room that has just ended has no next tick.
            DispatchQueue.global().asyncAfter(deadline: .now() + 2) { [self] in
                end()
                fail(key, ticket: ticket, .internalFailure("The picture of room “\(room)” did not come in time."))
            }
        }
        return try answer.get()
    }

    /// Passes the room's picture to `answer`: the recent one, or the one that is being made. Returns a ticket where the
    /// caller must get a new picture and end with `picture` or `fail`.
    func ask(_ room: Key, at now: Instant, answer: @escaping @Sendable (Answer) -> Void) -> Int? {
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

    /// Encodes the room's picture as PNG in the pool.
    func picture(_ picture: Picture, of room: Key, ticket: Int) {
        lane.submit { [self] in
            do throws(CodecError) {
                finish(room, ticket, .success(try picture.pngData()))
            } catch {
                finish(room, ticket, .failure(.internalFailure("\(error)")))
            }
        }
    }

    /// Fails the waiting requests. Without effect where the picture was there in time.
    func fail(_ room: Key, ticket: Int, _ error: ConferenceError) { finish(room, ticket, .failure(error)) }

    /// Releases pictures older than `lifetime`.
    func forgetOld(at now: Instant) { state.withLock { $0.forgetOld(at: now) } }

    private func finish(_ room: Key, _ ticket: Int, _ answer: Answer) {
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
