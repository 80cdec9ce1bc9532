import Basics
import Synchronization
import TestSupport
import Testing
import Threads

@testable import Sockets

private let loopback = SocketAddress(.v4(0x7F00_0001), port: 0)

/// Answers each datagram with the number of its loop, and moves connections on request of a frame.
private final class Member: MediaLoopDelegate, @unchecked Sendable {
    let index: Int
    let group: MediaLoopGroup
    let closed = Atomic<Int>(0)

    init(_ index: Int, _ group: MediaLoopGroup) {
        self.index = index
        self.group = group
    }

    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        if datagram[0] == 2 { group.loops[index].claim(flow) }
        if datagram[0] == 3 { return group.loops[index].move(flow, to: group.loops[Int(datagram[1])]) }
        withUnsafeBytes(of: UInt8(index)) { group.loops[index].send($0, flow: flow) }
    }
    func advance(to now: Instant) -> Instant? { nil }
    func closed(_ flow: Flow) { closed.wrappingAdd(1, ordering: .relaxed) }
}

/// Keeps the first byte of each datagram, and reports when it has enough.
private final class Answers: MediaLoopDelegate, @unchecked Sendable {
    private let kept = Guarded<[UInt8]>([])
    private let ends = Atomic<Int>(0)
    var all: [UInt8] { kept.withLock { $0 } }
    var ended: Int { ends.load(ordering: .relaxed) }

    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        kept.withLock { $0.append(datagram[0]) }
    }
    func advance(to now: Instant) -> Instant? { nil }
    func closed(_ flow: Flow) { ends.wrappingAdd(1, ordering: .relaxed) }
}

private func start(_ group: MediaLoopGroup) -> [Member] {
    let members = group.loops.indices.map { Member($0, group) }
    for (loop, member) in zip(group.loops, members) { loop.start(delegate: member) }
    return members
}

/// A running group, and a client.
private struct Call {
    let group: MediaLoopGroup
    let members: [Member]
    let client: MediaLoop
    let answers = Answers()

    init(_ configuration: MediaLoopConfiguration, loops count: Int) throws {
        group = try MediaLoopGroup(configuration, loops: count)
        members = start(group)
        client = try MediaLoop(MediaLoopConfiguration())
        client.start(delegate: answers)
    }

    func stop() {
        group.stop()
        client.stop()
    }
}

@Suite("Loops behind one port", .serialized)
struct MediaLoopGroupRealTimeTests {
    @Test("many senders are distributed over the loops, each always to the same, and answered from the one port")
    func spread() async throws {
        let group = try MediaLoopGroup(MediaLoopConfiguration(udp: [loopback]), loops: 3)
        #expect(Set(group.loops.map(\.boundUDP)).count == 1 && group.boundUDP[0].port != 0)
        let members = start(group)
        let clients = try (0..<40).map { _ in try MediaLoop(MediaLoopConfiguration(udp: [loopback])) }
        defer {
            group.stop()
            for client in clients { client.stop() }
            withExtendedLifetime(members) {}
        }
        let answers = clients.map { _ in Answers() }
        let target = group.boundUDP[0]
        for (client, answers) in zip(clients, answers) {
            client.start(delegate: answers)
            client.execute {
                let flow = Flow(.udp, local: client.boundUDP[0], remote: target)
                for _ in 0..<5 { withUnsafeBytes(of: UInt8(1)) { client.send($0, flow: flow) } }
            }
        }
        let isDone = await eventually(.seconds(10)) { answers.allSatisfy { $0.all.count == 5 } }
        #expect(isDone)
        #expect(answers.allSatisfy { Set($0.all).count == 1 })
        // Forty senders at random on three loops: the probability that one loop gets none is below 10⁻⁶.
        #expect(Set(answers.map { $0.all.first }).count == 3)
    }

    @Test("another server gets an error, not a share of the port")
    func busyPort() throws {
        let group = try MediaLoopGroup(MediaLoopConfiguration(udp: [loopback], tcp: [loopback]), loops: 2)
        for count in [1, 2] {
            #expect(throws: NetworkError.self) {
                try MediaLoopGroup(MediaLoopConfiguration(udp: [group.boundUDP[0]]), loops: count)
            }
            #expect(throws: NetworkError.self) {
                try MediaLoopGroup(MediaLoopConfiguration(tcp: [group.boundTCP[0]]), loops: count)
            }
        }
    }

    @Test("a connection moves with its received bytes, counts where it was accepted, and frees its place at its end")
    func move() async throws {
        var configuration = MediaLoopConfiguration(tcp: [loopback])
        configuration.connections = 2
        let call = try Call(configuration, loops: 3)
        let (group, members, client, answers) = (call.group, call.members, call.client, call.answers)
        defer { call.stop() }
        let target = group.boundTCP[0]
        let flow = await withCheckedContinuation { continuation in
            client.execute { continuation.resume(returning: client.connectTCP(to: target, at: MonotonicClock.now())) }
        }
        let connection = try #require(flow)
        func send(_ frames: [[UInt8]]) {
            client.execute { for frame in frames { frame.withUnsafeBytes { client.send($0, flow: connection) } } }
        }
        // All frames are in one segment: the old loop answers those that it has read, the new loop the next ones.
        send([[1], [3, 1]])
        var isThere = await eventually(.seconds(10)) { answers.all == [0] }
        #expect(isThere)
        send([[2]])
        isThere = await eventually(.seconds(10)) { answers.all == [0, 1] }
        #expect(isThere && group.statistics.connections == 1 && group.statistics.accepted == 1)
        isThere = await eventually(.seconds(10)) { group.statistics.strangers == 0 }
        #expect(isThere, "it was claimed on the second loop")
        send([[3, 2]])
        isThere = await eventually(.seconds(10)) { group.loops[2].statistics.connections == 1 }
        #expect(isThere)
        send([[1]])
        isThere = await eventually(.seconds(10)) { answers.all == [0, 1, 2] }
        #expect(isThere)
        client.execute { client.closeConnection(connection) }
        isThere = await eventually(.seconds(10)) {
            members[2].closed.load(ordering: .relaxed) == 1 && group.statistics.connections == 0
        }
        #expect(isThere && members[0].closed.load(ordering: .relaxed) == 0)
    }

    @Test("a stranger that moved is closed when its time is over")
    func stranger() async throws {
        var configuration = MediaLoopConfiguration(tcp: [loopback])
        configuration.claimTime = .milliseconds(200)
        let call = try Call(configuration, loops: 2)
        let (group, members, client, answers) = (call.group, call.members, call.client, call.answers)
        defer { call.stop() }
        let target = group.boundTCP[0]
        client.execute {
            guard let flow = client.connectTCP(to: target, at: MonotonicClock.now()) else { return }
            let frame: [UInt8] = [3, 1]
            frame.withUnsafeBytes { client.send($0, flow: flow) }
        }
        let isOver = await eventually(.seconds(10)) { answers.ended == 1 }
        #expect(
            isOver && group.statistics.connections == 0 && group.statistics.strangers == 0
                && group.statistics.unclaimed == 1)
        #expect(members[1].closed.load(ordering: .relaxed) == 1)
    }

    @Test("sockets can be bound while the loop runs")
    func late() async throws {
        let call = try Call(MediaLoopConfiguration(), loops: 1)
        let (group, client, answers) = (call.group, call.client, call.answers)
        defer { call.stop() }
        let (udp, tcp) = (try group.loops[0].bindUDP(loopback), try group.loops[0].listen(on: loopback))
        let own = try client.bindUDP(loopback)
        client.execute {
            withUnsafeBytes(of: UInt8(1)) { client.send($0, flow: Flow(.udp, local: own, remote: udp)) }
            guard let flow = client.connectTCP(to: tcp, at: MonotonicClock.now()) else { return }
            withUnsafeBytes(of: UInt8(1)) { client.send($0, flow: flow) }
        }
        let isThere = await eventually(.seconds(10)) { answers.all == [0, 0] }
        #expect(isThere)
    }
}
