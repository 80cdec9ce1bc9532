import Basics
import Glibc
import Threads

/// One kind of attack.
struct Attack: Sendable {
    /// The server's settings that differ from the defaults.
    struct Shape: Hashable, Sendable {
        /// RLIMIT_NOFILE, soft and hard.
        var descriptors: Int?
        /// The secret of the tokens that joins need.
        var secret: String?
        /// Other settings: environment variables `TESSERA_…`.
        var settings: [String: String] = [:]

        static let shipped = Shape()
    }

    /// The name in the table: words with hyphens.
    var name: String
    /// A description of the attack for the documentation.
    var what: String
    var shape = Shape.shipped
    /// The most memory in MB that the server may additionally use during the attack. The default is what rooms, seats
    /// and decoders may use within the server's own limits; where a protocol has a window, that is the limit.
    var memory = 400.0
    /// Preparation outside of the measured time; done once.
    var prepare: (@Sendable () throws -> Void)?
    /// Runs the attack on a thread of its own until `context.isOver`. An error is a fault of the attack, not of the
    /// server, and is reported in the row.
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

/// The input of an attack, and the collection of its observations. Shared by its threads.
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
    /// The addresses to which the bystanders' media is sent, which everybody on the path can see.
    let bystanders: [SocketAddress]
    let end: Instant
    private let notes = Guarded(Notes())
    /// Attackers have a low priority, because processor time is not the target.
    private static let niceness: Int32 = 10

    init(http: SocketAddress, media: SocketAddress, bystanders: [SocketAddress], end: Instant) {
        (self.http, self.media, self.bystanders, self.end) = (http, media, bystanders, end)
    }

    /// The attacker's address; further ones are 127.0.1.2, 127.0.1.3 …
    var address: IPAddress { address(1) }
    func address(_ number: Int) -> IPAddress { .loopback(1 + number / 250, 1 + number % 250) }
    func wire(_ number: Int = 1) -> HTTPWire { HTTPWire(server: http, source: address(number)) }

    var isOver: Bool { MonotonicClock.now() >= end }

    /// Reports that the server violated a rule.
    func fault(_ text: String) { notes.withLock { if !$0.faults.contains(text) { $0.faults.append(text) } } }
    /// Adds a remark.
    func remark(_ text: String) { notes.withLock { $0.remarks.append(text) } }
    /// Reports that the attack itself failed.
    func failed(_ text: String) {
        notes.withLock { if $0.failures.count < 3, !$0.failures.contains(text) { $0.failures.append(text) } }
    }

    /// Adds to a count of several threads.
    func add(_ what: String, _ count: Int) { notes.withLock { $0.counts[what, default: 0] += count } }

    var faults: [String] { notes.withLock { $0.faults } }
    var remarks: [String] {
        notes.withLock { notes in
            // Equal reports of several threads are kept once.
            var seen = Set<String>()
            return notes.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
                + notes.remarks.filter { seen.insert($0).inserted }.prefix(3)
        }
    }
    var failures: [String] { notes.withLock { $0.failures } }
    /// The number of threads that have not ended.
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

    /// Calls `body` at the given rate until the attack is over, in bursts of at least 2 ms.
    func repeating(perSecond rate: Double, _ body: () throws -> Void) rethrows {
        let start = MonotonicClock.now()
        var done = 0.0
        while !isOver {
            let due = (MonotonicClock.now() - start).inSeconds * rate
            // Time that the machine was too busy for is skipped.
            if due - done > rate / 5 { done = due - rate / 5 }
            while done < due, !isOver {
                try body()
                done += 1
            }
            MonotonicClock.sleep(until: MonotonicClock.now() + .milliseconds(2))
        }
    }

    func rest(_ time: Duration) { MonotonicClock.sleep(until: min(MonotonicClock.now() + time, end)) }
    /// Waits until the end of the attack.
    func rest() { MonotonicClock.sleep(until: end) }

    // MARK: - Joining

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

    /// Calls `body` at intervals until the end, and discards signalling messages in between.
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
