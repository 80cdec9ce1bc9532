import Basics
import CSockets
import Glibc
import Testing

@testable import Sockets

private let loopback = SocketAddress(.v4(0x7F00_0001), port: 0)

/// Claims the connections whose first byte is 1, and reports frames and closed connections.
private final class JoinAuthorizer: MediaLoopDelegate {
    let loop: MediaLoop
    let closed: @Sendable () -> Void
    init(_ loop: MediaLoop, closed: @escaping @Sendable () -> Void = {}) {
        self.loop = loop
        self.closed = closed
    }
    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        if datagram[0] == 1 { loop.claim(flow) }
        loop.send(UnsafeRawBufferPointer(datagram), flow: flow)
    }
    func advance(to now: Instant) -> Instant? { nil }
    func closed(_ flow: Flow) { closed() }
}

/// A blocking TCP client.
private struct PlainClient: ~Copyable {
    let descriptor: Int32

    init(to address: SocketAddress) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var storage = sockaddr_storage()
        let length = address.write(to: &storage, family: AF_INET)
        _ = withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
        }
        var patience = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) { _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

    /// The number of received bytes; 0 where the server closed, -1 after a reset or five seconds without data.
    func read() -> Int {
        var bytes = [UInt8](repeating: 0, count: 100)
        return recv(descriptor, &bytes, bytes.count, 0)
    }
}

private final class KeptClient {
    let plain: PlainClient
    init(to address: SocketAddress) { plain = PlainClient(to: address) }
}

@Suite(.serialized) struct HostileMediaLoopRealTimeTests {
    @Test(
        "A connection that is not claimed is closed in time, whatever it says; one that is claimed stays",
        .timeLimit(.minutes(1)))
    func unclaimed() throws {
        var configuration = MediaLoopConfiguration(tcp: [loopback])
        configuration.claimTime = .milliseconds(300)
        let server = try MediaLoop(configuration)
        defer { server.stop() }
        server.start(delegate: JoinAuthorizer(server))
        let stranger = PlainClient(to: server.boundTCP[0])
        let peer = PlainClient(to: server.boundTCP[0])
        stranger.write([0, 1, 2])
        peer.write([0, 1, 1])
        #expect(stranger.read() == 3)
        #expect(peer.read() == 3)
        #expect(stranger.read() == 0)
        peer.write([0, 1, 1])
        #expect(peer.read() == 3)
        #expect(server.statistics.unclaimed == 1)
        #expect(server.statistics.connections == 1 && server.statistics.strangers == 0)
    }

    @Test(
        "A full server takes who comes instead of a stranger, and refuses where all are claimed",
        .timeLimit(.minutes(1)))
    func full() throws {
        var configuration = MediaLoopConfiguration(tcp: [loopback])
        configuration.connections = 2
        let server = try MediaLoop(configuration)
        defer { server.stop() }
        server.start(delegate: JoinAuthorizer(server))
        let clients = (0..<2)
        let first = PlainClient(to: server.boundTCP[0])
        first.write([0, 1, 2])
        #expect(first.read() == 3)
        let second = PlainClient(to: server.boundTCP[0])
        second.write([0, 1, 1])
        #expect(second.read() == 3)
        let third = PlainClient(to: server.boundTCP[0])
        third.write([0, 1, 1])
        #expect(third.read() == 3)
        #expect(first.read() <= 0)
        let fourth = PlainClient(to: server.boundTCP[0])
        fourth.write([0, 1, 1])
        #expect(fourth.read() <= 0)
        #expect(server.statistics.displaced == 1)
        #expect(server.statistics.refusedInAll == 1)
        #expect(server.statistics.connections == clients.count)
    }

    @Test("The rate of accepts is limited; waiting connections are accepted later", .timeLimit(.minutes(1)))
    func heldUp() throws {
        var configuration = MediaLoopConfiguration(tcp: [loopback])
        configuration.acceptsPerSecond = 20
        let server = try MediaLoop(configuration)
        defer { server.stop() }
        // All connections wait in the backlog when the loop begins to accept them.
        let clients = (0..<50).map { _ in KeptClient(to: server.boundTCP[0]) }
        for client in clients { client.plain.write([0, 1, 1]) }
        server.start(delegate: JoinAuthorizer(server))
        for client in clients { #expect(client.plain.read() == 3) }
        #expect(server.statistics.accepted == 50)
        #expect(server.statistics.heldUp > 0)
    }

    @Test("A connection that is closed without data is never accepted", .timeLimit(.minutes(1)))
    func openAndClose() throws {
        let server = try MediaLoop(MediaLoopConfiguration(tcp: [loopback]))
        defer { server.stop() }
        for _ in 0..<30 { _ = PlainClient(to: server.boundTCP[0]) }
        server.start(delegate: JoinAuthorizer(server))
        let client = PlainClient(to: server.boundTCP[0])
        client.write([0, 1, 1])
        #expect(client.read() == 3)
        #expect(server.statistics.accepted == 1)
    }

    @Test("Only whole frames keep a connection alive")
    func halfFrames() throws {
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        defer { close(ends[1]) }
        let connection = TCPConnection(
            descriptor: ends[0], flow: Flow(.tcp, local: loopback, remote: loopback, connection: 1),
            isConnecting: false, at: .zero)
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 1000, alignment: 1)
        defer { scratch.deallocate() }
        var frames = 0
        for (index, byte) in ([0, 2, 7, 8] as [UInt8]).enumerated() {
            _ = write(ends[1], [byte], 1)
            let isAlive = connection.receive(into: scratch, at: .zero + .seconds(index + 1)) { _ in frames += 1 }
            #expect(isAlive)
            #expect(connection.lastFrame == .zero + .seconds(index == 3 ? 4 : 0))
        }
        #expect(frames == 1)
    }

    @Test("A receiver that reads nothing is detected, and its backlog is bounded")
    func stalled() throws {
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        defer { close(ends[1]) }
        let connection = TCPConnection(
            descriptor: ends[0], flow: Flow(.tcp, local: loopback, remote: loopback, connection: 1),
            isConnecting: false, at: .zero)
        let frame = [UInt8](repeating: 1, count: 1200)
        var queued = 0
        for step in 0..<3000 {
            let isQueued = frame.withUnsafeBytes { connection.send($0) }
            let isAlive = connection.flush(at: .zero + .milliseconds(step))
            #expect(isAlive)
            if isQueued { queued += 1 }
        }
        #expect(queued < 3000)
        #expect(connection.wantsWrite)
        let stopped = connection.lastProgress
        #expect(stopped < .zero + .seconds(2))
        var taken = [UInt8](repeating: 0, count: 50_000)
        _ = read(ends[1], &taken, taken.count)
        _ = connection.flush(at: .zero + .seconds(9))
        #expect(connection.lastProgress == .zero + .seconds(9))
    }

    @Test("An unreachable destination leaves segmentation on for the others")
    func portZero() throws {
        let sender = try UDPSocket(binding: loopback)
        let receiver = try UDPSocket(binding: loopback)
        func fill(_ queue: SendQueue, port: UInt16) {
            let bytes = [UInt8](repeating: 5, count: 500)
            let flow = Flow(.udp, local: sender.address, remote: SocketAddress(loopback.ip, port: port))
            for _ in 0..<3 { bytes.withUnsafeBytes { _ = queue.append($0, flow: flow) } }
        }
        for round in 1...3 {
            let queue = SendQueue()
            fill(queue, port: receiver.address.port)
            fill(queue, port: 0)
            fill(queue, port: receiver.address.port)
            sender.send(queue)
            var count = 0
            while receiver.receive({ bytes, _ in count += bytes.count == 500 ? 1 : 0 }) > 0 {}
            #expect(count == 6)
            // The first run of the queue and the last.
            #expect(sender.segmented == 2 * round)
        }
    }

    @Test("A datagram from port 0, where no answer can be sent, is dropped", .enabled(if: geteuid() == 0))
    func fromPortZero() throws {
        let receiver = try UDPSocket(binding: loopback)
        let raw = socket(AF_INET, Int32(SOCK_RAW.rawValue), Int32(IPPROTO_UDP))
        try #require(raw >= 0)
        defer { close(raw) }
        var storage = sockaddr_storage()
        let length = receiver.address.write(to: &storage, family: AF_INET)
        for source in [0, 99] as [UInt16] {
            // Source, destination, length, no checksum.
            var packet: [UInt8] = []
            packet.append16(source)
            packet.append16(receiver.address.port)
            packet.append16(12)
            packet.append16(0)
            packet += [1, 2, 3, 4]
            let sent = withUnsafePointer(to: &storage) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(raw, packet, packet.count, 0, $0, length)
                }
            }
            #expect(sent == packet.count)
        }
        var ports: [UInt16] = []
        while receiver.receive({ _, flow in ports.append(flow.remote.port) }) > 0 {}
        #expect(ports == [99])
    }

    @Test(
        "Without descriptors the listener rests instead of spinning, and takes who waits when there are some",
        .timeLimit(.minutes(1)))
    func exhausted() async {
        await #expect(processExitsWith: .success) {
            guard let server = try? MediaLoop(MediaLoopConfiguration(tcp: [loopback])) else { exit(1) }
            let first = PlainClient(to: server.boundTCP[0])
            let second = PlainClient(to: server.boundTCP[0])
            first.write([0, 1, 1])
            second.write([0, 1, 1])
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var low = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &low)
            server.start(delegate: JoinAuthorizer(server))
            for _ in 0..<1000 where server.statistics.acceptFailures == 0 { usleep(10_000) }
            usleep(500_000)
            let failures = server.statistics.acceptFailures
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            // One per second; without the pause there would be thousands. On a busy machine a sleep may last longer.
            guard (1...10).contains(failures), server.statistics.accepted == 0 else { exit(2) }
            guard first.read() == 3, second.read() == 3 else { exit(3) }
            exit(server.statistics.accepted == 2 ? 0 : 4)
        }
    }
}
