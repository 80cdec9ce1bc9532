public import Basics
public import Peer

/// A call between two `PeerConnection`s over simulated links in virtual time: an hour takes seconds and every failure
/// can be reproduced.
///
/// `client` offers and controls ICE, `server` is ICE lite. The events of both sides are collected; the hooks send
/// media.
public final class SimulatedCall {
    public enum Side: Sendable { case client, server }

    fileprivate struct Datagram {
        var bytes: [UInt8]
        var source: SocketAddress
        var destination: SocketAddress
    }

    public let client: PeerConnection
    public let server: PeerConnection
    public private(set) var now: Instant
    /// By how much the client's clock, with which it stamps its media and its reports, is faster than the server's:
    /// 0.0003 is 300 ppm. To be set before the negotiation.
    public var clientDrift = 0.0
    private let start: Instant
    /// From client to server.
    public var up: Link
    /// From server to client.
    public var down: Link
    /// Called each `tick`; send media here.
    public var onTick: (SimulatedCall, Instant) -> Void = { _, _ in }
    /// Called for each event of either side, which is also collected.
    public var onEvent: (SimulatedCall, Side, PeerEvent) -> Void = { _, _, _ in }
    public var tick: Duration = .milliseconds(10)
    /// Called with each datagram that either side sends, and its destination.
    public var onDatagram: (Side, [UInt8], SocketAddress) -> Void = { _, _, _ in }
    /// Drops a datagram when it returns true.
    public var filter: (Side, [UInt8]) -> Bool = { _, _ in false }
    /// Whether events are also collected; a long call's frames take memory.
    public var collectsEvents = true
    public private(set) var clientEvents: [PeerEvent] = []
    public private(set) var serverEvents: [PeerEvent] = []

    /// One direction of the link.
    public struct Link {
        fileprivate var link: SimulatedLink<Datagram>
        public var sent: Int { link.sent }
        public var lost: Int { link.lost }
        /// With IP and UDP headers.
        public var deliveredBytes: Int { link.deliveredBytes }
        /// How long a packet that is sent now waits before it leaves.
        public func queueDelay(at now: Instant) -> Duration { link.queueDelay(at: now) }
        public mutating func change(to conditions: LinkConditions) { link.change(to: conditions) }
    }

    public static let serverAddress = SocketAddress(.v4(0xC000_0201), port: 40_000)
    public static let clientAddress = SocketAddress(.v4(0xC633_6407), port: 50_000)
    /// The client's address as the server sees it: a NAT may change it.
    private var mappedClient = SimulatedCall.clientAddress
    private var nextTick: Instant

    public init(
        client: PeerConfiguration? = nil, server: PeerConfiguration? = nil, clientIdentity: DTLSIdentity,
        serverIdentity: DTLSIdentity,
        up: LinkConditions = LinkConditions(), down: LinkConditions = LinkConditions(), seed: UInt64,
        start: Instant = Instant(nanoseconds: 1_000_000_000_000)
    ) throws {
        now = start
        self.start = start
        nextTick = start
        var clientSettings = client ?? PeerConfiguration(role: .client)
        clientSettings.localAddresses = [Self.clientAddress]
        clientSettings.seed = clientSettings.seed ?? seed &* 4 &+ 1
        var serverSettings = server ?? PeerConfiguration(role: .server)
        serverSettings.candidates = [.host(Self.serverAddress)]
        serverSettings.seed = serverSettings.seed ?? seed &* 4 &+ 2
        self.client = try PeerConnection(clientSettings, identity: clientIdentity, at: start)
        self.server = try PeerConnection(serverSettings, identity: serverIdentity, at: start)
        self.up = Link(link: SimulatedLink(up, seed: seed &* 4 &+ 3))
        self.down = Link(link: SimulatedLink(down, seed: seed &* 4 &+ 4))
    }

    /// Exchanges offer and answer, as signalling would.
    public func negotiate(iceRestart: Bool = false) throws {
        let offer = client.makeOffer(at: clientNow, iceRestart: iceRestart)
        let answer = try server.answer(offer, at: now)
        try client.accept(answer: answer, at: clientNow)
        settle()
    }

    /// Assigns another port, or another address, to the client, as a NAT does without its knowledge; packets in flight
    /// to the old one are lost.
    public func rebindClient(to ip: IPAddress? = nil) {
        mappedClient.port &+= 1
        if let ip { mappedClient.ip = ip }
    }

    /// The time by the client's clock, which its calls take.
    public var clientNow: Instant {
        clientDrift == 0 ? now : start + .nanoseconds(Int64(Double((now - start).nanoseconds) * (1 + clientDrift)))
    }

    /// The time by the server's clock at which the client's shows `instant`.
    private func serverTime(ofClient instant: Instant) -> Instant {
        clientDrift == 0
            ? instant : start + .nanoseconds(Int64(Double((instant - start).nanoseconds) / (1 + clientDrift)))
    }

    public func run(for duration: Duration) {
        let end = now + duration
        while step(until: end) {}
        now = end
    }

    /// Runs until the condition holds; false if it did not within the limit.
    public func run(atMost limit: Duration, until condition: (SimulatedCall) -> Bool) -> Bool {
        let end = now + limit
        while !condition(self) { if !step(until: end) { return condition(self) } }
        return true
    }

    private func step(until end: Instant) -> Bool {
        var next = nextTick
        for other in [
            up.link.nextDelivery, down.link.nextDelivery, client.nextDeadline(after: clientNow).map(serverTime),
            server.nextDeadline(after: now),
        ] {
            if let other { next = min(next, other) }
        }
        guard next <= end else { return false }
        // A deadline in the past is due now; time advances a little so that it cannot stand still.
        now = max(next, now + .microseconds(10))
        while let datagram = up.link.receive(at: now) {
            deliver(datagram, to: server, local: Self.serverAddress, at: now)
        }
        while let datagram = down.link.receive(at: now) {
            guard datagram.destination == mappedClient else { continue }
            deliver(datagram, to: client, local: Self.clientAddress, at: clientNow)
        }
        if now >= nextTick {
            nextTick = max(nextTick + tick, now)
            onTick(self, now)
        }
        client.advance(to: clientNow)
        server.advance(to: now)
        settle()
        return true
    }

    private func deliver(_ datagram: Datagram, to peer: PeerConnection, local: SocketAddress, at now: Instant) {
        var bytes = datagram.bytes
        bytes.withUnsafeMutableBytes { buffer in
            peer.receive(buffer, flow: Flow(.udp, local: local, remote: datagram.source), at: now)
        }
    }

    /// Passes on the events and datagrams of both peers; needed after acting on them outside of the hooks.
    public func settle() {
        while let event = client.nextEvent() {
            if collectsEvents { clientEvents.append(event) }
            onEvent(self, .client, event)
        }
        while let event = server.nextEvent() {
            if collectsEvents { serverEvents.append(event) }
            onEvent(self, .server, event)
        }
        client.flush { bytes, flow in
            let datagram = Datagram(bytes: Array(bytes), source: mappedClient, destination: flow.remote)
            onDatagram(.client, datagram.bytes, datagram.destination)
            if !filter(.client, datagram.bytes) { up.link.send(datagram, size: bytes.count, at: now) }
        }
        server.flush { bytes, flow in
            let datagram = Datagram(bytes: Array(bytes), source: flow.local, destination: flow.remote)
            onDatagram(.server, datagram.bytes, datagram.destination)
            if !filter(.server, datagram.bytes) { down.link.send(datagram, size: bytes.count, at: now) }
        }
    }
}
