import Basics
import Glibc
import Threads

/// One thing that an attacker may try.
struct Attack: Sendable {
    /// How the server differs from the one that is shipped.
    struct Shape: Hashable, Sendable {
        /// RLIMIT_NOFILE, soft and hard.
        var descriptors: Int?
        /// Joins need a token of this secret.
        var secret: String?

        static let shipped = Shape()
    }

    /// As in the table: words with hyphens.
    var name: String
    /// What is done, for the page.
    var what: String
    var shape = Shape.shipped
    /// MB above what it was before that the server may take at most meanwhile. The default is what rooms, seats and
    /// decoders may come to within the server's own limits; where a protocol has a window, that is the limit.
    var memory = 400.0
    /// Work that must not fall into the measured time; done once.
    var prepare: (@Sendable () throws -> Void)?
    /// Does it, on a thread of its own, until `context.isOver`. An error is a fault of the attack, not of the server:
    /// the row says so.
    var run: @Sendable (AttackContext) throws -> Void

    init(
        _ name: String, _ what: String, shape: Shape = .shipped, memory: Double = 400,
        prepare: (@Sendable () throws -> Void)? = nil,
        run: @escaping @Sendable (AttackContext) throws -> Void
    ) {
        (self.name, self.what, self.shape, self.memory, self.prepare, self.run) = (
            name, what, shape, memory, prepare, run
        )
    }
}

/// What an attack is told, and where it says what it saw. Shared by its threads.
final class AttackContext: Sendable {
    private struct Notes {
        var faults: [String] = []
        var remarks: [String] = []
        var failures: [String] = []
        var counts: [String: Int] = [:]
        var running = 0
    }

    let http: SocketAddress
    let media: SocketAddress
    /// Where the bystanders' media comes to, as everybody on the way can see.
    let bystanders: [SocketAddress]
    let end: Instant
    private let notes = Guarded(Notes())
    /// Attackers give way: the processor's time is not what is attacked.
    private static let niceness: Int32 = 10

    init(http: SocketAddress, media: SocketAddress, bystanders: [SocketAddress], end: Instant) {
        (self.http, self.media, self.bystanders, self.end) = (http, media, bystanders, end)
    }

    /// The attacker's address; others of its kind are 127.0.1.2, 127.0.1.3 …
    var address: IPAddress { address(1) }
    func address(_ number: Int) -> IPAddress { .loopback(1 + number / 250, 1 + number % 250) }
    func wire(_ number: Int = 1) -> HTTPWire { HTTPWire(server: http, source: address(number)) }

    var isOver: Bool { MonotonicClock.now() >= end }

    /// The server did what it must not do.
    func fault(_ text: String) { notes.withLock { if !$0.faults.contains(text) { $0.faults.append(text) } } }
    /// Worth knowing.
    func remark(_ text: String) { notes.withLock { $0.remarks.append(text) } }
    /// The attack itself did not get far.
    func failed(_ text: String) {
        notes.withLock { if $0.failures.count < 3, !$0.failures.contains(text) { $0.failures.append(text) } }
    }

    /// A figure that several threads add to.
    func add(_ what: String, _ count: Int) { notes.withLock { $0.counts[what, default: 0] += count } }

    var faults: [String] { notes.withLock { $0.faults } }
    var remarks: [String] {
        notes.withLock { notes in
            // Twelve threads that were sent away say it once.
            var seen = Set<String>()
            return notes.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
                + notes.remarks.filter { seen.insert($0).inserted }.prefix(3)
        }
    }
    var failures: [String] { notes.withLock { $0.failures } }
    /// Threads that have not ended.
    var running: Int { notes.withLock { $0.running } }

    /// Runs `body` on a thread of its own.
    func spawn(_ body: @escaping @Sendable (AttackContext) throws -> Void) {
        notes.withLock { $0.running += 1 }
        let started = DedicatedThread.start("attacker", niceness: Self.niceness) { [self] in
            do { try body(self) } catch { failed("\(error)") }
            notes.withLock { $0.running -= 1 }
        }
        if !started { notes.withLock { $0.running -= 1 } }
    }

    /// Calls `body` so many times a second until the attack is over, in bursts of at least 2 ms.
    func repeating(perSecond rate: Double, _ body: () throws -> Void) rethrows {
        let start = MonotonicClock.now()
        var done = 0.0
        while !isOver {
            let due = (MonotonicClock.now() - start).inSeconds * rate
            // Time that the machine had no room for is not caught up with.
            if due - done > rate / 5 { done = due - rate / 5 }
            while done < due, !isOver {
                try body()
                done += 1
            }
            MonotonicClock.sleep(until: MonotonicClock.now() + .milliseconds(2))
        }
    }

    func rest(_ time: Duration) { MonotonicClock.sleep(until: min(MonotonicClock.now() + time, end)) }
    /// Stays as it is until the end.
    func rest() { MonotonicClock.sleep(until: end) }

    // MARK: - The way in

    /// Joins a room by `/signal` and connects media.
    func enter(
        _ room: String, as number: Int = 1, codecs: [VideoCodec] = [.h264, .vp8],
        shape: (inout HostileOffer) -> Void = { _ in }
    ) throws(WireError) -> Intruder {
        let wire = try SignalWire(to: http, from: address(number))
        try wire.join(room, as: "Attacker \(number)")
        let peer = try HostilePeer(from: address(number)) { offer in
            offer.videoCodecs = codecs
            shape(&offer)
        } exchange: { offer throws(WireError) in
            try wire.answer(to: offer)
        }
        try peer.connect()
        return Intruder(wire: wire, peer: peer)
    }
}

/// A hostile peer with its seat.
struct Intruder {
    let wire: SignalWire
    let peer: HostilePeer

    /// Calls `body` at intervals until the end; signalling is read and thrown away meanwhile.
    func run(_ context: AttackContext, every interval: Duration, _ body: (Instant) throws(WireError) -> Void)
        throws(WireError)
    {
        var nextLook = MonotonicClock.now()
        try peer.run(until: context.end, every: interval) { now throws(WireError) in
            if now >= nextLook {
                wire.drain()
                nextLook = now + .milliseconds(250)
            }
            try body(now)
        }
        if let end = peer.end { context.remark("sent away: \(end)") }
    }
}
