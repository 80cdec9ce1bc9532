import Basics
import Testing
import Threads

@testable import Sockets

/// Answers each datagram with itself, and counts.
private final class Echo: MediaLoopDelegate {
    let loop: MediaLoop
    init(_ loop: MediaLoop) { self.loop = loop }
    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        loop.claim(flow)
        loop.send(UnsafeRawBufferPointer(datagram), flow: flow)
    }
    func advance(to now: Instant) -> Instant? { nil }
    func closed(_ flow: Flow) {}
}

/// Keeps the received datagrams and reports when it has enough.
private final class Collector: MediaLoopDelegate {
    let wanted: Int
    let received: @Sendable ([[UInt8]]) -> Void
    var datagrams: [[UInt8]] = []
    init(_ wanted: Int, _ received: @escaping @Sendable ([[UInt8]]) -> Void) {
        self.wanted = wanted
        self.received = received
    }
    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        datagrams.append(Array(datagram))
        if datagrams.count == wanted { received(datagrams) }
    }
    func advance(to now: Instant) -> Instant? { nil }
    func closed(_ flow: Flow) {}
}

private let loopback = SocketAddress(.v4(0x7F00_0001), port: 0)

@Suite struct MediaLoopRealTimeTests {
    @Test("datagrams of many sizes are echoed whole and in order, segmented or not", .timeLimit(.minutes(1)))
    func udpEcho() async throws {
        let server = try MediaLoop(MediaLoopConfiguration(udp: [loopback]))
        let client = try MediaLoop(MediaLoopConfiguration(udp: [loopback]))
        defer {
            server.stop()
            client.stop()
        }
        let sizes = [1200, 1200, 1200, 700, 1200, 40, 1200, 1200]
        let target = server.boundUDP[0]
        let result: [[UInt8]] = await withCheckedContinuation { continuation in
            server.start(delegate: Echo(server))
            client.start(delegate: Collector(sizes.count) { continuation.resume(returning: $0) })
            client.execute {
                for (index, size) in sizes.enumerated() {
                    let bytes = [UInt8](repeating: UInt8(index), count: size)
                    bytes.withUnsafeBytes {
                        client.send($0, flow: Flow(.udp, local: client.boundUDP[0], remote: target))
                    }
                }
            }
        }
        #expect(result.map(\.count) == sizes)
        #expect(result.enumerated().allSatisfy { index, bytes in bytes.allSatisfy { $0 == UInt8(index) } })
    }

    @Test("frames over TCP are echoed whole", .timeLimit(.minutes(1)))
    func tcpEcho() async throws {
        let server = try MediaLoop(MediaLoopConfiguration(tcp: [loopback]))
        let client = try MediaLoop(MediaLoopConfiguration())
        defer {
            server.stop()
            client.stop()
        }
        let target = server.boundTCP[0]
        let result: [[UInt8]] = await withCheckedContinuation { continuation in
            server.start(delegate: Echo(server))
            client.start(delegate: Collector(50) { continuation.resume(returning: $0) })
            client.execute {
                guard let flow = client.connectTCP(to: target, at: MonotonicClock.now()) else { return }
                for index in 0..<50 {
                    let bytes = [UInt8](repeating: UInt8(index), count: 1100)
                    bytes.withUnsafeBytes { client.send($0, flow: flow) }
                }
            }
        }
        #expect(result.count == 50)
        #expect(result.enumerated().allSatisfy { index, bytes in bytes.count == 1100 && bytes[0] == UInt8(index) })
    }

    @Test("a port in use is an error that names the port and the remedy")
    func busyPort() throws {
        let first = try MediaLoop(MediaLoopConfiguration(udp: [loopback]))
        let error = #expect(throws: NetworkError.self) {
            try MediaLoop(MediaLoopConfiguration(udp: [first.boundUDP[0]]))
        }
        #expect(error?.description.contains("\(first.boundUDP[0])") == true)
        #expect(error?.description.contains("choose another port") == true)
    }
}
