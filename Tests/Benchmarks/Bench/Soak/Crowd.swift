import Basics
import Peer
import Simulation
import Sockets
import Threads

/// Callers on one thread, each with sockets of its own, addressed by the name of their place.
final class Crowd: Sendable {
    struct Options: Sendable {
        var codec: VideoCodec
        /// A WHEP viewer, which sends nothing.
        var watchesOnly = false
        var overTCP = false
    }

    /// Each place has two ports of 127.0.0.1 and one of 127.0.0.2, for a NAT that rebinds a port and for another
    /// network.
    static let addressesPerPlace = 3

    private let loop: MediaLoop
    private let core: CrowdBox

    init(places: Int, named name: String) throws {
        let first = SocketAddress(.v4(0x7F00_0001), port: 0), second = SocketAddress(.v4(0x7F00_0002), port: 0)
        loop = try MediaLoop(MediaLoopConfiguration(udp: (0..<places).flatMap { _ in [first, first, second] }))
        core = CrowdBox(value: CrowdCore(loop: loop, identity: try DTLSIdentity.generate()))
        loop.start(named: name, delegate: core.value)
    }

    func stop() { loop.stop() }

    /// Creates the connection of a place, replaces an earlier one, and returns its offer.
    func enter(
        _ place: Int, _ options: Options, source: SoakSource, onEvent: (@Sendable (PeerEvent) -> Void)? = nil
    ) async throws -> String {
        try await onLoop { core in try core.enter(place, options, source: source, onEvent: onEvent) }
    }

    /// Applies the answer to a place's last offer; over TCP the first answer of a place opens its connection.
    func accept(_ answer: String, at place: Int, overTCP: Bool = false) async throws {
        try await onLoop { core in try core.accept(answer, at: place, overTCP: overTCP) }
    }

    /// Runs `body` with the caller of a place; nil when the place is empty.
    func perform<Value: Sendable>(_ place: Int, _ body: @escaping @Sendable (SoakLeg, Instant) -> Value) async throws
        -> Value?
    {
        try await onLoop { core in core.legs[place].map { body($0, MonotonicClock.now()) } }
    }

    /// Closes the connection of a place.
    func leave(_ place: Int) async throws { try await onLoop { core in core.leave(place) } }

    /// Drops the connection of a place without a message, like a power failure.
    func vanish(_ place: Int) async throws { try await onLoop { core in core.remove(place) } }

    private func onLoop<Value: Sendable>(_ body: @escaping @Sendable (CrowdCore) throws -> Value) async throws -> Value
    {
        try await withCheckedThrowingContinuation { continuation in
            loop.execute { [core] in continuation.resume(with: Result { try body(core.value) }) }
        }
    }
}

/// The core is accessed on the loop's thread only: in `MediaLoop.execute` and in the loop's delegate calls.
private struct CrowdBox: @unchecked Sendable {
    let value: CrowdCore
}

/// The callers of a crowd, on the loop's thread.
private final class CrowdCore: MediaLoopDelegate {
    private let loop: MediaLoop
    private let identity: DTLSIdentity
    private let placesByAddress: [SocketAddress: Int]
    private var placesByConnection: [UInt32: Int] = [:]
    private(set) var legs: [Int: SoakLeg] = [:]
    /// The number of the next audio tick of 20 ms.
    private var nextAudio: Int64 = 0

    init(loop: MediaLoop, identity: DTLSIdentity) {
        self.loop = loop
        self.identity = identity
        placesByAddress = Dictionary(
            uniqueKeysWithValues: loop.boundUDP.enumerated().map { ($0.element, $0.offset / Crowd.addressesPerPlace) })
    }

    func enter(
        _ place: Int, _ options: Crowd.Options, source: SoakSource, onEvent: (@Sendable (PeerEvent) -> Void)?
    ) throws -> String {
        let now = MonotonicClock.now()
        remove(place)
        let first = place * Crowd.addressesPerPlace
        let addresses = options.overTCP ? [] : Array(loop.boundUDP[first..<first + Crowd.addressesPerPlace])
        let leg = try SoakLeg(
            addresses: addresses, source: source, options: options, identity: identity, at: now, onEvent: onEvent)
        legs[place] = leg
        return leg.connection.makeOffer(at: now)
    }

    func accept(_ answer: String, at place: Int, overTCP: Bool) throws {
        guard let leg = legs[place] else { return }
        let now = MonotonicClock.now()
        try leg.connection.accept(answer: answer, at: now)
        guard overTCP, !placesByConnection.values.contains(place) else { return }
        guard let candidate = leg.connection.negotiated?.remoteCandidates.first(where: { $0.transport == .tcp }),
            let remote = candidate.socketAddress, let flow = loop.connectTCP(to: remote, at: now)
        else { throw BenchError("the answer has no candidate for TCP") }
        placesByConnection[flow.connection] = place
        leg.connection.addFlow(flow, for: candidate, at: now)
    }

    func leave(_ place: Int) {
        guard let leg = legs[place] else { return }
        let now = MonotonicClock.now()
        leg.connection.close(at: now)
        leg.flush(at: now) { loop.send($0, flow: $1) }
        remove(place)
    }

    func remove(_ place: Int) {
        legs[place] = nil
        for connection in placesByConnection.filter({ $0.value == place }).keys {
            loop.closeConnection(Flow(.tcp, local: loop.boundUDP[0], remote: loop.boundUDP[0], connection: connection))
            placesByConnection[connection] = nil
        }
    }

    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        let place = flow.transport == .tcp ? placesByConnection[flow.connection] : placesByAddress[flow.local]
        guard let leg = place.flatMap({ legs[$0] }) else { return }
        leg.received(datagram, flow: flow, at: now)
    }

    func advance(to now: Instant) -> Instant? {
        let tick = now.ticks(at: 50)
        if nextAudio < tick - 10 { nextAudio = tick }
        while nextAudio <= tick {
            for leg in legs.values { leg.sendAudio(nextAudio, at: now) }
            nextAudio += 1
        }
        var deadline = Instant(ticks: nextAudio, at: 50) + .nanoseconds(1)
        for leg in legs.values {
            if let next = leg.advance(to: now, send: { loop.send($0, flow: $1) }) { deadline = min(deadline, next) }
        }
        return deadline
    }

    func closed(_ flow: Flow) {
        guard let place = placesByConnection.removeValue(forKey: flow.connection) else { return }
        legs[place]?.connection.removeFlow(flow, at: MonotonicClock.now())
    }
}
