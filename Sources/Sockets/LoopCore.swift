import Basics
import CSockets
import Glibc

/// What runs on the loop's thread: epoll over the sockets, and the delegate's deadlines.
final class LoopCore {
    /// More connections than that are refused: each costs a descriptor and buffers.
    static let maxConnections = 1024

    var delegate: (any MediaLoopDelegate)?
    private let sockets: [UDPSocket]
    private let listeners: [TCPListener]
    private let queues: [SendQueue]
    private let wake: Int32
    private let poll: Int32
    private var connections: [UInt32: TCPConnection] = [:]
    private var nextConnection: UInt32 = 1
    private var dirty: Set<UInt32> = []
    private var lastSweep = Instant.zero
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    private var thread: pthread_t?

    /// What an epoll event belongs to, in its 64-bit data: a kind in the high half, an index or connection number in the low one.
    private enum Source: UInt64 { case wake, udp, listener, connection }

    init(sockets: [UDPSocket], listeners: [TCPListener], wake: Int32) throws(NetworkError) {
        self.sockets = sockets
        self.listeners = listeners
        self.wake = wake
        queues = sockets.map { _ in SendQueue() }
        poll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard poll >= 0 else { throw NetworkError("create an epoll descriptor", code: errno) }
        watch(wake, .wake, 0, EPOLLIN.rawValue)
        for (index, socket) in sockets.enumerated() { watch(socket.descriptor, .udp, index, EPOLLIN.rawValue) }
        for (index, listener) in listeners.enumerated() { watch(listener.descriptor, .listener, index, EPOLLIN.rawValue) }
    }

    deinit {
        close(poll)
        scratch.deallocate()
    }

    var isCurrentThread: Bool { thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    var dropped: Int { sockets.reduce(0) { $0 + $1.dropped } + connections.values.reduce(0) { $0 + $1.dropped } }

    func run(takeWork: () -> (work: [@Sendable () -> Void], isStopped: Bool)) {
        thread = pthread_self()
        let capacity = 64
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
        defer { events.deallocate() }
        var deadline: Instant?
        while true {
            let count = epoll_wait(poll, events, Int32(capacity), timeout(until: deadline))
            let now = MonotonicClock.now()
            var isStopped = false
            for index in 0..<max(0, Int(count)) {
                let event = events[index]
                let number = Int(event.data.u64 & 0xFFFF_FFFF)
                switch Source(rawValue: event.data.u64 >> 32) {
                case .wake?:
                    var value: UInt64 = 0
                    _ = read(wake, &value, 8)
                case .udp?: receive(from: sockets[number])
                case .listener?: accept(from: listeners[number], at: now)
                case .connection?: serve(UInt32(number), events: event.events, at: now)
                case nil: break
                }
            }
            let taken = takeWork()
            for work in taken.work { work() }
            isStopped = taken.isStopped
            deadline = delegate?.advance(to: MonotonicClock.now())
            flush()
            sweep(at: now)
            delegate?.turnEnded(since: now)
            if isStopped { break }
        }
        delegate = nil
        connections.removeAll()
        thread = nil
    }

    // MARK: - Sending

    func send(_ bytes: UnsafeRawBufferPointer, flow: Flow) {
        if flow.transport == .tcp {
            guard let connection = connections[flow.connection] else { return }
            connection.send(bytes)
            dirty.insert(flow.connection)
            return
        }
        guard let index = socketIndex(for: flow) else { return }
        if !queues[index].append(bytes, flow: flow) {
            sockets[index].send(queues[index])
            queues[index].removeAll()
            _ = queues[index].append(bytes, flow: flow)
        }
    }

    private func socketIndex(for flow: Flow) -> Int? {
        if sockets.count == 1 { return 0 }
        let exact = sockets.firstIndex { $0.address == flow.local }
        return exact
            ?? sockets.firstIndex { $0.address.port == flow.local.port && $0.address.family == flow.remote.family }
            ?? sockets.firstIndex { $0.address.family == flow.remote.family }
    }

    private func flush() {
        for (socket, queue) in zip(sockets, queues) where queue.count > 0 {
            socket.send(queue)
            queue.removeAll()
        }
        for number in dirty {
            guard let connection = connections[number] else { continue }
            if connection.flush() { rewatch(connection, number) } else { end(number) }
        }
        dirty.removeAll(keepingCapacity: true)
    }

    // MARK: - UDP

    private func receive(from socket: UDPSocket) {
        // A flood on one socket must not keep the others and the deadlines waiting.
        for _ in 0..<4 {
            // Read once a batch is here, not before: what came while a handshake was computed must not look as if it had come before it.
            var arrival: Instant?
            let count = socket.receive { datagram, flow in
                let now = arrival ?? MonotonicClock.now()
                arrival = now
                delegate?.received(datagram, flow: flow, at: now)
            }
            if count < UDPSocket.batch { return }
        }
    }

    // MARK: - TCP

    func connect(to remote: SocketAddress, at now: Instant) -> Flow? {
        let fd = socket(remote.family, tcpSocketType, 0)
        guard fd >= 0 else { return nil }
        var storage = sockaddr_storage()
        let length = remote.write(to: &storage, family: remote.family)
        let result = withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(fd, $0, length) }
        }
        guard result == 0 || errno == EINPROGRESS, let local = localAddress(of: fd) else {
            close(fd)
            return nil
        }
        return add(fd, local: local, remote: remote, isConnecting: result != 0, at: now)
    }

    func closeConnection(_ flow: Flow) {
        connections[flow.connection] = nil
    }

    private func accept(from listener: TCPListener, at now: Instant) {
        while let (fd, local, remote) = listener.accept() {
            guard connections.count < LoopCore.maxConnections else {
                close(fd)
                continue
            }
            _ = add(fd, local: local, remote: remote, isConnecting: false, at: now)
        }
    }

    private func add(_ fd: Int32, local: SocketAddress, remote: SocketAddress, isConnecting: Bool, at now: Instant) -> Flow {
        let number = nextConnection
        nextConnection &+= 1
        let flow = Flow(.tcp, local: local, remote: remote, connection: number)
        connections[number] = TCPConnection(descriptor: fd, flow: flow, isConnecting: isConnecting, at: now)
        watch(fd, .connection, Int(number), EPOLLIN.rawValue | (isConnecting ? EPOLLOUT.rawValue : 0))
        return flow
    }

    private func serve(_ number: UInt32, events: UInt32, at now: Instant) {
        guard let connection = connections[number] else { return }
        if events & EPOLLOUT.rawValue != 0 {
            if connection.isConnecting {
                guard connection.connectResult() == 0 else { return end(number) }
                connection.isConnecting = false
            }
            guard connection.flush() else { return end(number) }
            rewatch(connection, number)
        }
        if events & (EPOLLIN.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 {
            let alive = connection.receive(into: scratch, at: now) { delegate?.received($0, flow: connection.flow, at: now) }
            if !alive { end(number) }
        }
    }

    private func end(_ number: UInt32) {
        guard let connection = connections.removeValue(forKey: number) else { return }
        delegate?.closed(connection.flow)
    }

    private func sweep(at now: Instant) {
        guard now - lastSweep > .seconds(5) else { return }
        lastSweep = now
        for (number, connection) in connections where now - connection.lastHeard > TCPConnection.idleLimit { end(number) }
    }

    // MARK: - epoll

    private func watch(_ fd: Int32, _ source: Source, _ number: Int, _ events: UInt32) {
        var event = epoll_event(events: events, data: epoll_data_t(u64: source.rawValue << 32 | UInt64(number)))
        epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event)
    }

    private func rewatch(_ connection: TCPConnection, _ number: UInt32) {
        let events = EPOLLIN.rawValue | (connection.wantsWrite ? EPOLLOUT.rawValue : 0)
        var event = epoll_event(events: events, data: epoll_data_t(u64: Source.connection.rawValue << 32 | UInt64(number)))
        epoll_ctl(poll, EPOLL_CTL_MOD, connection.descriptor, &event)
    }

    /// Whole milliseconds, rounded up so that a deadline has really passed; a minute where there is none.
    private func timeout(until deadline: Instant?) -> Int32 {
        guard let deadline else { return 60_000 }
        let left = (deadline - MonotonicClock.now()).nanoseconds
        return left <= 0 ? 0 : Int32(min(left / 1_000_000 + 1, 60_000))
    }
}
