public import Basics
import CSockets
import Glibc
import Synchronization
public import Threads

/// The addresses and limits of a loop.
public struct MediaLoopConfiguration: Sendable {
    /// The addresses to bind, one UDP socket each; port 0 lets the system choose.
    public var udp: [SocketAddress]
    /// The addresses to listen on, one TCP listener each.
    public var tcp: [SocketAddress]
    /// Concurrent TCP connections from outside on all listeners: each costs a descriptor and buffers.
    public var connections = 1024
    /// Concurrent TCP connections of one client address, which may be that of a whole office.
    public var connectionsPerAddress = 64
    /// Connections that are accepted per second, with bursts of twice as many; others wait in the system's backlog. An
    /// accept costs some 20 µs, nearly all of it in the system; a thousand clients that reconnect after a restart are
    /// accepted within a second.
    public var acceptsPerSecond = 500.0
    /// A connection from outside that is not claimed (`MediaLoop.claim`) within this time is closed. A client's first
    /// check follows its handshake at once.
    public var claimTime: Duration = .seconds(5)

    public init(udp: [SocketAddress] = [], tcp: [SocketAddress] = []) {
        self.udp = udp
        self.tcp = tcp
    }
}

/// The owner of the peers on a loop. The loop calls it on its own thread only.
public protocol MediaLoopDelegate: AnyObject {
    /// Called for each datagram and each RFC 4571 frame of a TCP connection. The delegate may change the bytes in
    /// place; they are valid during the call only.
    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant)
    /// Called after each batch of datagrams or work and when a deadline passed. Returns the next deadline.
    func advance(to now: Instant) -> Instant?
    /// Called when a TCP connection ended: nothing more is received from it or sent to it.
    func closed(_ flow: Flow)
    /// Called at the end of a turn, when its datagrams were written. The turn began at `start`, when the sockets were
    /// ready.
    func turnEnded(since start: Instant)
}

extension MediaLoopDelegate {
    public func turnEnded(since start: Instant) {}
}

/// One thread with its sockets: one UDP port and one TCP port carry any number of peers.
///
/// The state on the loop is accessed on its thread only; other threads pass work to it with `execute`.
public final class MediaLoop: Sendable {
    /// The bound addresses, with the chosen port where 0 was configured.
    public let boundUDP: [SocketAddress]
    public let boundTCP: [SocketAddress]

    private let counters = LoopCounters()
    let inbox: LoopInbox
    /// Taken by the thread at start; from then on only the thread accesses it.
    private let core: Guarded<Confined<LoopCore>?>
    /// The identity of the loop's thread while it runs. Only that thread writes `thread` and `running`, so a caller
    /// that finds its own identity here may access `running`. Every datagram to send takes this check.
    private let thread = Atomic<UInt>(0)
    private nonisolated(unsafe) var running: LoopCore?

    /// Binds all addresses, so that a port in use is reported before anything starts.
    public convenience init(_ configuration: MediaLoopConfiguration) throws(NetworkError) {
        try self.init(configuration, member: 0, of: 1, home: nil)
    }

    /// - Parameters:
    ///   - number: the index of this loop among the `count` loops behind the same ports.
    ///   - home: the inbox of the loop that accepts TCP connections; nil where it is this loop.
    init(_ configuration: MediaLoopConfiguration, member number: Int, of count: Int, home: LoopInbox?)
        throws(NetworkError)
    {
        var sockets: [UDPSocket] = []
        for address in configuration.udp {
            var address = address
            if count > 1, number == 0 {
                // With SO_REUSEPORT another server of the same user could share the port, and each would get half of
                // the other's datagrams. The port is therefore bound without it first.
                address.port = try UDPSocket(binding: address, counters: counters).address.port
            }
            sockets.append(try UDPSocket(binding: address, sharesPort: count > 1, counters: counters))
        }
        var listeners: [TCPListener] = []
        for address in configuration.tcp { listeners.append(try TCPListener(binding: address)) }
        inbox = try LoopInbox()
        boundUDP = sockets.map(\.address)
        boundTCP = listeners.map(\.address)
        let admission = ConnectionAdmission(
            limit: configuration.connections, perAddress: configuration.connectionsPerAddress,
            claimTime: configuration.claimTime)
        let accepts = TokenBucket(
            rate: configuration.acceptsPerSecond, size: configuration.acceptsPerSecond * 2, at: MonotonicClock.now())
        core = Guarded(
            Confined(
                try LoopCore(
                    sockets: sockets, listeners: listeners, admission: admission, accepts: accepts, counters: counters,
                    inbox: inbox, home: home,
                    connections: ConnectionNumbers(member: number, of: count))))
    }

    /// Starts the thread, which takes over `delegate`. A second start is ignored.
    ///
    /// - Parameter niceness: the thread's nice value (see `DedicatedThread`); where the system refuses it, the thread
    ///   runs with the default.
    public func start(named name: String = "media", niceness: Int32 = 0, delegate: sending any MediaLoopDelegate) {
        guard let core = core.withLock({ $0.take() }) else { return }
        core.value.delegate = delegate
        DedicatedThread.start(name, niceness: niceness) { [self] in
            running = core.value
            thread.store(UInt(pthread_self()), ordering: .relaxed)
            core.value.run()
            thread.store(0, ordering: .relaxed)
            running = nil
        }
    }

    /// Runs `work` on the loop's thread soon, in the order of the calls. Never blocks; drops the work when the loop has
    /// stopped.
    public func execute(_ work: @escaping @Sendable () -> Void) {
        inbox.post(.run(work))
    }

    /// The work that was posted and not yet begun.
    public var backlog: BacklogStatistics { inbox.backlog }

    /// Queues a datagram, which is sent together with its neighbours at the end of the loop's turn. To be called on the
    /// loop's thread only.
    public func send(_ bytes: UnsafeRawBufferPointer, flow: Flow) {
        withCore { $0.send(bytes, flow: flow) }
    }

    /// Begins a TCP connection and returns its flow, or nil when the system refuses at once. Frames that are sent
    /// before it is established wait; `closed` reports a failure. To be called on the loop's thread only.
    public func connectTCP(to remote: SocketAddress, at now: Instant) -> Flow? {
        withCore { $0.connect(to: remote, at: now) } ?? nil
    }

    /// Closes a TCP connection without a call to the delegate. To be called on the loop's thread only.
    public func closeConnection(_ flow: Flow) {
        withCore { $0.closeConnection(flow) }
    }

    /// Marks a TCP connection as a peer's, after an authenticated check. Until then the connection is a stranger, which
    /// is closed after `MediaLoopConfiguration.claimTime`, or sooner in favour of another. Does nothing for UDP. To be
    /// called on the loop's thread only.
    public func claim(_ flow: Flow) {
        guard flow.transport == .tcp else { return }
        withCore { $0.claim(flow) }
    }

    /// Moves a TCP connection to another loop of the group, together with a received part of a frame: from then on the
    /// other loop reads it, and the other loop's delegate gets its frames. To be called on the loop's thread only.
    public func move(_ flow: Flow, to other: MediaLoop) {
        withCore { $0.move(flow, to: other.inbox) }
    }

    /// Binds one more UDP socket while the loop runs, and returns its address.
    public func bindUDP(_ address: SocketAddress) throws(NetworkError) -> SocketAddress {
        let socket = Confined(try UDPSocket(binding: address, counters: counters))
        defer { inbox.post(.core { $0.add(socket.value) }) }
        return socket.value.address
    }

    /// Listens on one more TCP address while the loop runs, and returns the bound address.
    public func listen(on address: SocketAddress) throws(NetworkError) -> SocketAddress {
        let listener = Confined(try TCPListener(binding: address))
        defer { inbox.post(.core { $0.add(listener.value) }) }
        return listener.value.address
    }

    /// The counts of the sockets; can be read from any thread.
    public var statistics: MediaLoopStatistics { counters.statistics }

    /// Ends the thread when the queued datagrams were sent.
    public func stop() { inbox.stop() }

    /// Runs `body` if this is the loop's own thread, and fails an assertion otherwise.
    private func withCore<Result>(_ body: (LoopCore) -> Result) -> Result? {
        guard thread.load(ordering: .relaxed) == UInt(pthread_self()), let running else {
            assertionFailure("called off the loop's thread")
            return nil
        }
        return body(running)
    }
}
