import Basics
import CSockets
import Glibc
import Synchronization
import Threads

/// Which ports a loop listens on.
public struct MediaLoopConfiguration: Sendable {
    /// A UDP socket for each address; port 0 lets the system choose.
    public var udp: [SocketAddress]
    /// A TCP listener for each address.
    public var tcp: [SocketAddress]
    /// TCP connections from outside at once, on all listeners: each costs a descriptor and buffers.
    public var connections = 1024
    /// Of them, those of one client address. An address may be that of a whole office.
    public var connectionsPerAddress = 64
    /// Connections that are taken a second, and twice as many at once; others wait in the system. One costs some 20 µs,
    /// nearly all of it the system's; a thousand clients that come back after a restart are in within a second.
    public var acceptsPerSecond = 500.0
    /// A connection from outside that nobody claimed (`MediaLoop.claim`) within this is closed. A client's first check
    /// follows its handshake at once.
    public var claimTime: Duration = .seconds(5)

    public init(udp: [SocketAddress] = [], tcp: [SocketAddress] = []) {
        self.udp = udp
        self.tcp = tcp
    }
}

/// Who lives on a loop. Every call comes on the loop's own thread.
public protocol MediaLoopDelegate: AnyObject {
    /// A datagram, or one RFC 4571 frame of a TCP connection. Its bytes may be changed in place and are gone
    /// afterwards.
    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant)
    /// Called after each batch of datagrams or work and when a deadline passed. Returns when it wants to be called
    /// next.
    func advance(to now: Instant) -> Instant?
    /// A TCP connection ended; nothing more comes from it or can be sent to it.
    func closed(_ flow: Flow)
    /// A turn is over, what was to be sent in it handed to the system. It began at `start`, when the sockets were
    /// ready.
    func turnEnded(since start: Instant)
}

extension MediaLoopDelegate {
    public func turnEnded(since start: Instant) {}
}

/// One thread with its sockets: one UDP port and one TCP port carry any number of peers.
///
/// Everything that lives on the loop is touched on its thread only; other threads hand it work with `execute`.
public final class MediaLoop: Sendable {
    /// What was really bound: the ports are known even where 0 was asked for.
    public let boundUDP: [SocketAddress]
    public let boundTCP: [SocketAddress]

    private let counters = LoopCounters()
    let inbox: LoopInbox
    /// Handed to the thread at start; from then on only the thread touches it.
    private let core: Guarded<Confined<LoopCore>?>
    /// Written by the thread alone: its name while it runs, and then what lives on it, so that asking for the one shows
    /// that the other may be touched. Every datagram that is sent comes this way.
    private let thread = Atomic<UInt>(0)
    private nonisolated(unsafe) var running: LoopCore?

    /// Binds everything at once, so that a taken port is known before anything starts.
    public convenience init(_ configuration: MediaLoopConfiguration) throws(NetworkError) {
        try self.init(configuration, member: 0, of: 1, home: nil)
    }

    /// - Parameters:
    ///   - number: which of `count` loops behind the same ports this is.
    ///   - home: of the loop that lets TCP connections in; nil where this is the one.
    init(_ configuration: MediaLoopConfiguration, member number: Int, of count: Int, home: LoopInbox?)
        throws(NetworkError)
    {
        var sockets: [UDPSocket] = []
        for address in configuration.udp {
            var address = address
            if count > 1, number == 0 {
                // A shared port can be shared with another server of the same user as well, and each would get half of
                // the other's datagrams. So the port is asked for alone first.
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
            patience: configuration.claimTime)
        let accepts = TokenBucket(
            rate: configuration.acceptsPerSecond, size: configuration.acceptsPerSecond * 2, at: MonotonicClock.now())
        core = Guarded(
            Confined(
                try LoopCore(
                    sockets: sockets, listeners: listeners, admission: admission, accepts: accepts, counters: counters,
                    inbox: inbox, home: home,
                    connections: ConnectionNumbers(member: number, of: count))))
    }

    /// Starts the thread. `delegate` moves to it. A second start is ignored.
    ///
    /// - Parameter niceness: as `DedicatedThread` takes it; where the system refuses it, the thread runs as usual.
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

    /// Runs `work` on the loop's thread soon, in order. Never blocks; dropped when the loop has stopped.
    public func execute(_ work: @escaping @Sendable () -> Void) {
        inbox.post(.run(work))
    }

    /// Work that was handed over and not yet begun.
    public var backlog: BacklogStatistics { inbox.backlog }

    /// Queues a datagram; it leaves at the end of the loop's turn, together with its neighbours. On the loop's thread
    /// only.
    public func send(_ bytes: UnsafeRawBufferPointer, flow: Flow) {
        withCore { $0.send(bytes, flow: flow) }
    }

    /// Begins a TCP connection and returns the flow that names it, or nil when the system refuses at once. Frames sent
    /// before it stands wait; a failure is told by `closed`. On the loop's thread only.
    public func connectTCP(to remote: SocketAddress, at now: Instant) -> Flow? {
        withCore { $0.connect(to: remote, at: now) } ?? nil
    }

    /// Closes a TCP connection without a word to the delegate. On the loop's thread only.
    public func closeConnection(_ flow: Flow) {
        withCore { $0.closeConnection(flow) }
    }

    /// Says that a TCP connection is a peer's: it proved so by an authentic check. Until then it is a stranger's, which
    /// is closed after `MediaLoopConfiguration.claimTime`, or sooner for somebody else. Nothing happens for UDP. On the
    /// loop's thread only.
    public func claim(_ flow: Flow) {
        guard flow.transport == .tcp else { return }
        withCore { $0.claim(flow) }
    }

    /// Hands a TCP connection to another loop of the group, together with what came on it and was not a whole frame
    /// yet: from now on that one reads it, and its delegate gets what comes. On the loop's thread only.
    public func move(_ flow: Flow, to other: MediaLoop) {
        withCore { $0.move(flow, to: other.inbox) }
    }

    /// Binds one more UDP socket while the loop runs, and returns where.
    public func bindUDP(_ address: SocketAddress) throws(NetworkError) -> SocketAddress {
        let socket = Confined(try UDPSocket(binding: address, counters: counters))
        defer { inbox.post(.core { $0.add(socket.value) }) }
        return socket.value.address
    }

    /// Listens on one more TCP address while the loop runs, and returns where.
    public func listen(on address: SocketAddress) throws(NetworkError) -> SocketAddress {
        let listener = Confined(try TCPListener(binding: address))
        defer { inbox.post(.core { $0.add(listener.value) }) }
        return listener.value.address
    }

    /// What the sockets counted. From any thread.
    public var statistics: MediaLoopStatistics { counters.statistics }

    /// Ends the thread after what is queued was sent.
    public func stop() { inbox.stop() }

    /// Only the loop's own thread comes past the check.
    private func withCore<Result>(_ body: (LoopCore) -> Result) -> Result? {
        guard thread.load(ordering: .relaxed) == UInt(pthread_self()), let running else {
            assertionFailure("called off the loop's thread")
            return nil
        }
        return body(running)
    }
}
