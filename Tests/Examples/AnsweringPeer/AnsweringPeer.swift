public import Basics
import Dispatch
public import Peer
public import Sockets
import Threads

/// Handles a connection's events. Every call is made on the network thread.
public protocol PeerHandler: AnyObject {
    /// Called with each event of the connection; media may be sent from here. `closed`, `failed` and `overBudget` are
    /// the last events.
    func handle(_ event: PeerEvent, of connection: PeerConnection, at now: Instant)
}

/// One peer that answers an offer: a UDP port, a network thread, and the turns of its connection.
///
/// A `PeerConnection` has no socket and no clock. This class connects it to the system: it passes in datagrams and the
/// time, and takes out events and datagrams.
public final class AnsweringPeer: MediaLoopDelegate {
    private let loop: MediaLoop
    private let connection: PeerConnection
    private let handler: any PeerHandler
    private let ended: DispatchSemaphore

    private init(
        _ loop: MediaLoop, _ connection: PeerConnection, _ handler: any PeerHandler, _ ended: DispatchSemaphore
    ) {
        self.loop = loop
        self.connection = connection
        self.handler = handler
        self.ended = ended
    }

    /// Answers an offer and returns when the connection has ended.
    ///
    /// - Parameters:
    ///   - offer: the other end's description, from which ICE, DTLS and codecs are negotiated. It need not have
    ///     candidates, since a server waits for the other end's checks.
    ///   - address: an address of this machine that the other end can reach. The system chooses the port.
    ///   - configure: changes the configuration of the answer, such as codecs and directions.
    ///   - answered: delivers the answer, with this peer's candidate, to the other end.
    /// - Throws: `NetworkError` where the address cannot be bound, `SDPError` for an offer that cannot be answered, and
    ///   what `answered` throws.
    public static func serve(
        offer: String, at address: IPAddress, configure: (inout PeerConfiguration) -> Void = { _ in },
        handler: sending any PeerHandler,
        answered: (String) throws -> Void
    ) throws {
        let loop = try MediaLoop(MediaLoopConfiguration(udp: [SocketAddress(address, port: 0)]))
        var configuration = PeerConfiguration(role: .server)
        configuration.candidates = loop.boundUDP.map { .host($0) }
        configure(&configuration)
        let now = MonotonicClock.now()
        let connection = try PeerConnection(configuration, identity: .generate(), at: now)
        try answered(connection.answer(offer, at: now))
        let ended = DispatchSemaphore(value: 0)
        loop.start(named: "peer", delegate: AnsweringPeer(loop, connection, handler, ended))
        ended.wait()
    }

    // MARK: The loop's calls

    public func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        connection.receive(datagram, flow: flow, at: now)
    }

    /// One turn: advances the time, passes on all events, sends all datagrams, and returns the next deadline.
    public func advance(to now: Instant) -> Instant? {
        connection.advance(to: now)
        while let event = connection.nextEvent() { handler.handle(event, of: connection, at: now) }
        connection.flush { loop.send($0, flow: $1) }
        if connection.isEnded {
            loop.stop()
            ended.signal()
        }
        return connection.nextDeadline(after: now)
    }

    /// A TCP connection ended; this peer has none.
    public func closed(_ flow: Flow) {}
}
