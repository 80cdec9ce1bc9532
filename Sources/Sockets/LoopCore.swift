import Basics
import CSockets
import Glibc
import Synchronization
import Threads

/// The state on the loop's thread: it waits with epoll for the sockets and for the delegate's deadlines.
final class LoopCore {
    /// Connections that one turn of the loop accepts; further ones wait for the next turn.
    static let acceptsPerTurn = 64
    /// Connections that are read in one turn, up to `scratchSize` bytes each: strangers must not delay the media.
    static let readsPerTurn = 16
    static let scratchSize = 16 << 10
    /// How long the listeners pause when the system has no descriptors left: they would stay readable, and the loop
    /// would spin.
    static let exhaustionPause: Duration = .seconds(1)
    /// How long the listeners pause at least when the rate of accepts is used up.
    static let ratePause: Duration = .milliseconds(20)
    /// The minimum time from the start of one turn to the start of the next. Each turn costs two context switches,
    /// several times the cost of a datagram, so datagrams that arrive meanwhile are read together. No datagram is
    /// delayed by more than this, and under light load none is delayed.
    static let turnDistance: Duration = .milliseconds(2)
    /// How often the loop looks for idle and stalled connections.
    static let sweepInterval: Duration = .seconds(5)

    var delegate: (any MediaLoopDelegate)?
    private var sockets: [UDPSocket] = []
    private var listeners: [TCPListener] = []
    private var queues: [SendQueue] = []
    private let inbox: LoopInbox
    private let poll: Int32
    private var connections: [UInt32: TCPConnection] = [:]
    private var numbers: ConnectionNumbers
    /// The inbox of the loop that accepts and counts the connections; nil where it is this loop.
    private let home: LoopInbox?
    /// Connections that this loop accepted and that live on another loop.
    private var moved: [UInt32: LoopInbox] = [:]
    /// Connections that move to another loop as soon as their received frames are delivered.
    private var leaving: [UInt32: LoopInbox] = [:]
    private var dirty: Set<UInt32> = []
    private var lastSweep = Instant.zero
    private var admission: ConnectionAdmission
    private var accepts: TokenBucket
    private var pauseEnd: Instant?
    private var readsLeft = 0
    private let counters: LoopCounters
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: LoopCore.scratchSize, alignment: 16)

    /// The source of an epoll event, in the event's 64-bit data: the kind in the high half, an index or a connection
    /// number in the low half.
    private enum Source: UInt64 { case wake, udp, listener, connection }

    init(
        sockets: [UDPSocket], listeners: [TCPListener], admission: ConnectionAdmission, accepts: TokenBucket,
        counters: LoopCounters,
        inbox: LoopInbox, home: LoopInbox?, connections numbers: ConnectionNumbers
    ) throws(NetworkError) {
        self.accepts = accepts
        self.admission = admission
        self.counters = counters
        self.inbox = inbox
        self.home = home
        self.numbers = numbers
        poll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard poll >= 0 else { throw NetworkError("create an epoll descriptor", code: errno) }
        watch(inbox.descriptor, .wake, 0, EPOLLIN.rawValue)
        for socket in sockets { add(socket) }
        for listener in listeners { add(listener) }
    }

    func add(_ socket: UDPSocket) {
        watch(socket.descriptor, .udp, sockets.count, EPOLLIN.rawValue)
        sockets.append(socket)
        queues.append(SendQueue())
    }

    func add(_ listener: TCPListener) {
        watch(listener.descriptor, .listener, listeners.count, pauseEnd == nil ? EPOLLIN.rawValue : 0)
        listeners.append(listener)
    }

    deinit {
        close(poll)
        scratch.deallocate()
    }

    func run() {
        let capacity = 64
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
        defer { events.deallocate() }
        var deadline: Instant?
        var next = Instant.zero
        while true {
            if MonotonicClock.now() < next { MonotonicClock.sleep(until: next) }
            let count = epoll_wait(poll, events, Int32(capacity), timeout(until: deadline))
            let now = MonotonicClock.now()
            next = now + Self.turnDistance
            var isStopped = false
            readsLeft = LoopCore.readsPerTurn
            for index in 0..<max(0, Int(count)) {
                let event = events[index]
                let number = Int(event.data.u64 & 0xFFFF_FFFF)
                switch Source(rawValue: event.data.u64 >> 32) {
                case .wake?: inbox.acknowledge()
                case .udp?: receive(from: sockets[number])
                case .listener?: accept(from: listeners[number], at: now)
                case .connection?: serve(UInt32(number), events: event.events, at: now)
                case nil: break
                }
            }
            let taken = inbox.take()
            for work in taken.messages {
                switch work {
                case .run(let body): body()
                case .core(let body): body(self)
                }
            }
            isStopped = taken.isLast
            deadline = delegate?.advance(to: MonotonicClock.now())
            flush(at: now)
            sweep(at: now)
            if let end = admission.nextDeadline() { deadline = min(deadline ?? end, end) }
            if let pauseEnd { deadline = min(deadline ?? pauseEnd, pauseEnd) }
            delegate?.turnEnded(since: now)
            if isStopped { break }
        }
        delegate = nil
        connections.removeAll()
    }

    // MARK: - Sending

    func send(_ bytes: UnsafeRawBufferPointer, flow: Flow) {
        if flow.transport == .tcp {
            guard let connection = connections[flow.connection] else { return }
            if connection.send(bytes) { dirty.insert(flow.connection) } else { increment(counters.droppedOut) }
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

    private func flush(at now: Instant) {
        for (socket, queue) in zip(sockets, queues) where queue.count > 0 {
            socket.send(queue)
            queue.removeAll()
        }
        for number in dirty {
            guard let connection = connections[number] else { continue }
            if connection.flush(at: now) { rewatch(connection, number) } else { end(number) }
        }
        dirty.removeAll(keepingCapacity: true)
    }

    // MARK: - UDP

    private func receive(from socket: UDPSocket) {
        // A flood on one socket must not delay the others and the deadlines.
        for _ in 0..<4 {
            // The clock is read with the first datagram of a batch: a datagram that came while a handshake was
            // computed must not get an earlier time than the handshake.
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
        // Accepted connections inherit TCP_NODELAY from their listener; this one needs its own.
        var on: Int32 = 1
        setsockopt(fd, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
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
        guard connections.removeValue(forKey: flow.connection) != nil else { return }
        forget(flow.connection)
    }

    /// Notes that a peer has proved that the connection is its own.
    func claim(_ flow: Flow) {
        guard flow.transport == .tcp else { return }
        if let home { return home.post(.core { $0.claim(flow) }) }
        admission.claim(flow.connection)
        publish()
    }

    /// Drops all that is known of a closed connection, so that its place is free.
    private func forget(_ number: UInt32) {
        leaving[number] = nil
        home?.post(.core { $0.forget(number) })
        moved[number] = nil
        admission.remove(number)
        publish()
    }

    // MARK: - Connections that move

    func move(_ flow: Flow, to other: LoopInbox) {
        if connections[flow.connection] != nil { leaving[flow.connection] = other }
    }

    private func handOver(_ connection: TCPConnection, _ number: UInt32, to other: LoopInbox) {
        connections[number] = nil
        dirty.remove(number)
        epoll_ctl(poll, EPOLL_CTL_DEL, connection.descriptor, nil)
        noteMove(of: number, to: other)
        let moving = Confined(connection)
        other.post(.core { $0.adopt(moving.value, number) })
        publish()
    }

    /// Reports to the loop that accepted the connection on which loop it lives now.
    private func noteMove(of number: UInt32, to other: LoopInbox) {
        if let home { return home.post(.core { $0.noteMove(of: number, to: other) }) }
        moved[number] = other === inbox ? nil : other
    }

    private func adopt(_ connection: TCPConnection, _ number: UInt32) {
        connections[number] = connection
        watch(
            connection.descriptor, .connection, Int(number),
            EPOLLIN.rawValue | (connection.wantsWrite ? EPOLLOUT.rawValue : 0))
        publish()
    }

    private func accept(from listener: TCPListener, at now: Instant) {
        for _ in 0..<LoopCore.acceptsPerTurn {
            guard accepts.take(at: now) else {
                increment(counters.heldUp)
                return pauseListeners(until: now + max(accepts.wait(at: now), LoopCore.ratePause))
            }
            switch listener.accept() {
            case .connection(let fd, let local, let remote): admit(fd, local: local, remote: remote, at: now)
            case .gone: continue
            case .nothing:
                // No connection was accepted, so its token goes back.
                accepts.spend(-1, at: now)
                return
            case .exhausted:
                increment(counters.acceptFailures)
                // The oldest stranger's descriptor is freed. Without a stranger the clients go on waiting in the
                // backlog, and the pause keeps this thread from spinning.
                guard let stranger = admission.oldestStranger() else {
                    return pauseListeners(until: now + LoopCore.exhaustionPause)
                }
                increment(counters.displaced)
                end(stranger)
            }
        }
    }

    private func admit(_ fd: Int32, local: SocketAddress, remote: SocketAddress, at now: Instant) {
        switch admission.decision(for: remote.ip) {
        case .accept: break
        case .replace(let stranger):
            increment(counters.displaced)
            end(stranger)
        case .refused(let refusal):
            switch refusal {
            case .total: increment(counters.refusedInAll)
            case .address: increment(counters.refusedOfAddress)
            }
            close(fd)
            return
        }
        increment(counters.accepted)
        let flow = add(fd, local: local, remote: remote, isConnecting: false, at: now)
        admission.add(flow.connection, from: remote.ip, at: now)
        publish()
    }

    /// Stops watching the listeners until `end`.
    private func pauseListeners(until end: Instant) {
        pauseEnd = end
        for (index, listener) in listeners.enumerated() { change(listener.descriptor, .listener, index, 0) }
    }

    private func publish() {
        counters.connections.store(connections.count, ordering: .relaxed)
        guard home == nil else { return }
        counters.strangers.store(admission.strangerCount, ordering: .relaxed)
    }

    private func add(_ fd: Int32, local: SocketAddress, remote: SocketAddress, isConnecting: Bool, at now: Instant)
        -> Flow
    {
        let number = numbers.next()
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
            guard connection.flush(at: now) else { return end(number) }
            rewatch(connection, number)
        }
        if events & (EPOLLIN.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 {
            // epoll reports an unread connection again, behind those that it has not reported yet.
            guard readsLeft > 0 else { return }
            readsLeft -= 1
            let alive = connection.receive(into: scratch, at: now) {
                delegate?.received($0, flow: connection.flow, at: now)
            }
            if !alive {
                end(number)
            } else if let other = leaving.removeValue(forKey: number) {
                handOver(connection, number, to: other)
            }
        }
    }

    private func end(_ number: UInt32) {
        guard let connection = connections.removeValue(forKey: number) else {
            // The connection moved to another loop, which closes it; its place is free at once.
            guard let other = moved[number] else { return }
            other.post(.core { $0.end(number) })
            return forget(number)
        }
        forget(number)
        delegate?.closed(connection.flow)
    }

    private func sweep(at now: Instant) {
        if let pauseEnd, now >= pauseEnd {
            self.pauseEnd = nil
            for (index, listener) in listeners.enumerated() {
                change(listener.descriptor, .listener, index, EPOLLIN.rawValue)
            }
        }
        while let stranger = admission.nextExpired(at: now) {
            increment(counters.unclaimed)
            end(stranger)
        }
        guard now - lastSweep > LoopCore.sweepInterval else { return }
        lastSweep = now
        for (number, connection) in connections {
            if now - connection.lastFrame > TCPConnection.idleLimit {
                increment(counters.idle)
                end(number)
            } else if connection.wantsWrite, !connection.isConnecting,
                now - connection.lastProgress > TCPConnection.stallLimit
            {
                increment(counters.stalled)
                end(number)
            }
        }
    }

    // MARK: - epoll

    private func watch(_ fd: Int32, _ source: Source, _ number: Int, _ events: UInt32) {
        var event = epoll_event(events: events, data: epoll_data_t(u64: source.rawValue << 32 | UInt64(number)))
        epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event)
    }

    private func rewatch(_ connection: TCPConnection, _ number: UInt32) {
        let events = EPOLLIN.rawValue | (connection.wantsWrite ? EPOLLOUT.rawValue : 0)
        change(connection.descriptor, .connection, Int(number), events)
    }

    private func change(_ fd: Int32, _ source: Source, _ number: Int, _ events: UInt32) {
        var event = epoll_event(events: events, data: epoll_data_t(u64: source.rawValue << 32 | UInt64(number)))
        epoll_ctl(poll, EPOLL_CTL_MOD, fd, &event)
    }

    /// The time until `deadline` in whole milliseconds, rounded up so that the deadline has passed when epoll_wait
    /// returns; a minute where there is no deadline.
    private func timeout(until deadline: Instant?) -> Int32 {
        guard let deadline else { return 60_000 }
        let left = (deadline - MonotonicClock.now()).nanoseconds
        return left <= 0 ? 0 : Int32(min(left / 1_000_000 + 1, 60_000))
    }
}

/// Numbers connections so that no two in a group of loops have the same number.
struct ConnectionNumbers {
    private var latest: UInt32
    private let step: UInt32

    /// - Parameter number: the index of this loop among `count` loops, from 0.
    init(member number: Int, of count: Int) {
        latest = UInt32(number)
        step = UInt32(count)
    }

    /// The next number. It is never 0, which stands for no connection, until the numbers wrap at 2³².
    mutating func next() -> UInt32 {
        latest &+= step
        return latest
    }
}
