import Basics
import Testing

@testable import Gateway

@Suite struct SocketIOSessionsTests {
    /// A clock that only the test moves.
    private let clock = Guarded(Instant.zero)

    private func sessions() -> SocketIOSessions { SocketIOSessions { [clock] in clock.withLock { $0 } } }

    private func pass(_ time: Duration, _ sessions: SocketIOSessions) {
        let now = clock.withLock { clock in
            clock += time
            return clock
        }
        sessions.timePassed(at: now)
    }

    private func sample(_ name: String, _ sessions: SocketIOSessions) -> Double? {
        sessions.samples.first { $0.name == name }?.value
    }

    @Test func `a thousand sessions that say nothing are gone after 85 seconds`() {
        let sessions = sessions()
        for number in 0..<1000 {
            let identity = SocketIOIdentity(user: "user\(number % 10)")
            #expect(sessions.open(identity, from: .v4(1), isPolling: true) != nil)
        }
        pass(.milliseconds(84_999), sessions)
        #expect(sample("tessera_socketio_sessions", sessions) == 1000)
        #expect(sample("tessera_socketio_users", sessions) == 10)
        pass(.milliseconds(1), sessions)
        #expect(sample("tessera_socketio_sessions", sessions) == 0 && sessions.users.isEmpty)
    }

    @Test func `at the limit of an address its longest silent session makes room`() throws {
        let sessions = sessions()
        let first = try #require(sessions.open(SocketIOIdentity(user: "first"), from: .v4(1), isPolling: true))
        let other = try #require(sessions.open(SocketIOIdentity(user: "other"), from: .v4(2), isPolling: true))
        pass(.seconds(1), sessions)
        for _ in 0..<SocketIOSessions.maxPerAddress {
            #expect(sessions.open(SocketIOIdentity(user: "more"), from: .v4(1), isPolling: true) != nil)
        }
        #expect(sessions.client(first.id) == nil && sessions.client(other.id) != nil)
    }

    @Test func `sessions with a connection do not give way`() {
        let sessions = sessions()
        for _ in 0..<SocketIOSessions.maxPerAddress {
            #expect(sessions.open(SocketIOIdentity(user: "busy"), from: .v4(1), isPolling: false) != nil)
        }
        #expect(sessions.open(SocketIOIdentity(user: "late"), from: .v4(1), isPolling: true) == nil)
    }

    @Test func `presence is told once for each user, whatever its sessions`() throws {
        let sessions = sessions()
        let watcher = try #require(sessions.open(SocketIOIdentity(user: "watcher"), from: nil, isPolling: true))
        let one = try #require(sessions.open(SocketIOIdentity(user: "alice"), from: nil, isPolling: true))
        let two = try #require(sessions.open(SocketIOIdentity(user: "alice"), from: nil, isPolling: true))
        #expect(watcher.read { $0.engine.queuedPackets } == 1)
        sessions.end(one, .closed)
        #expect(watcher.read { $0.engine.queuedPackets } == 1 && sessions.users.sorted() == ["alice", "watcher"])
        sessions.end(two, .closed)
        #expect(watcher.read { $0.engine.queuedPackets } == 2)
    }

    @Test func `presence alone never fills a client's queue`() throws {
        let sessions = sessions()
        let watcher = try #require(sessions.open(SocketIOIdentity(user: "watcher"), from: nil, isPolling: true))
        for number in 0..<500 {
            _ = sessions.open(SocketIOIdentity(user: "user\(number)"), from: nil, isPolling: true)
        }
        #expect(sessions.client(watcher.id) != nil)
        #expect(watcher.read { $0.engine.queuedPackets } < EngineSession.maxPackets)
    }
}
