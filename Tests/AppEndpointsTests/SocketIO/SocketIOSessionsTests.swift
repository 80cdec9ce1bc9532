import Basics
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

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
            let identity = SocketIOIdentity(user: "user\(number % 100)")
            #expect(sessions.open(identity, from: .v4(1), isPolling: true) != nil)
        }
        pass(.milliseconds(84_999), sessions)
        #expect(sample("tessera_socketio_sessions", sessions) == 1000)
        #expect(sample("tessera_socketio_users", sessions) == 100)
        pass(.milliseconds(1), sessions)
        #expect(sample("tessera_socketio_sessions", sessions) == 0 && sessions.users.isEmpty)
    }

    @Test func `at the limit of an address its longest silent session makes room`() throws {
        let sessions = sessions()
        let first = try #require(sessions.open(SocketIOIdentity(user: "first"), from: .v4(1), isPolling: true))
        let other = try #require(sessions.open(SocketIOIdentity(user: "other"), from: .v4(2), isPolling: true))
        pass(.seconds(1), sessions)
        for number in 0..<SocketIOSessions.maxPerAddress {
            #expect(sessions.open(SocketIOIdentity(user: "more\(number)"), from: .v4(1), isPolling: true) != nil)
        }
        #expect(sessions.client(first.id) == nil && sessions.client(other.id) != nil)
    }

    @Test func `sessions with a connection do not give way`() {
        let sessions = sessions()
        for number in 0..<SocketIOSessions.maxPerAddress {
            #expect(sessions.open(SocketIOIdentity(user: "busy\(number)"), from: .v4(1), isPolling: false) != nil)
        }
        #expect(sessions.open(SocketIOIdentity(user: "late"), from: .v4(1), isPolling: true) == nil)
    }

    @Test func `five addresses that take all sessions keep no friend out, and end none`() throws {
        let sessions = SocketIOSessions(total: 200, perAddress: 50) { [clock] in clock.withLock { $0 } }
        func strangersCome(_ count: Int) {
            for number in 0..<count {
                let identity = SocketIOIdentity(user: "stranger\(number % 20)")
                _ = sessions.open(identity, from: .v4(UInt32(number % 5)), isPolling: number % 2 == 0)
            }
        }
        strangersCome(1000)
        var friends: [SocketIOClient] = []
        for number in 0..<60 {
            let identity = SocketIOIdentity(user: "friend\(number)")
            friends.append(
                try #require(sessions.open(identity, from: .v4(1000 + UInt32(number / 2)), isPolling: false)))
            strangersCome(10)
            pass(.milliseconds(100), sessions)
        }
        #expect(friends.allSatisfy { sessions.client($0.id) != nil })
        #expect((180...200).contains(try #require(sample("tessera_socketio_sessions", sessions))))
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

    // MARK: Bytes

    @Test func `an account has sixteen sessions, and the longest silent one gives way`() throws {
        let sessions = sessions()
        let alice = SocketIOIdentity(user: "alice")
        let first = try #require(sessions.open(alice, from: .v4(1), isPolling: true))
        pass(.seconds(1), sessions)
        let rest = (0..<15).compactMap { sessions.open(alice, from: .v4(2 + UInt32($0)), isPolling: false) }
        let other = try #require(sessions.open(SocketIOIdentity(user: "bobby"), from: .v4(1), isPolling: true))
        #expect(rest.count == 15 && sessions.client(first.id) != nil)
        for _ in 0..<100 { #expect(sessions.open(alice, from: .v4(9), isPolling: true) != nil) }
        #expect(sessions.client(first.id) == nil && sessions.clients(of: "alice").count == 16)
        #expect(sessions.client(other.id) != nil)
    }

    /// A text of so many bytes, as an event's argument.
    private func text(_ bytes: Int) -> JSONValue { .string(String(repeating: "x", count: bytes)) }

    @Test func `a message is kept once, however many sessions wait for it, and its sender pays`() throws {
        let sessions = sessions()
        let sender = try #require(sessions.open(SocketIOIdentity(user: "sender"), from: .v4(1), isPolling: true))
        let receivers = (0..<900).compactMap { number in
            sessions.open(SocketIOIdentity(user: "user\(number / 10)"), from: .v4(2), isPolling: true)
        }
        #expect(receivers.count == 900)
        let before = sessions.budget.used
        #expect(sessions.emit("chat", text(30_000), of: sender, to: receivers))
        #expect((30_000..<30_100).contains(sessions.budget.used - before))
        #expect(receivers.allSatisfy { client in client.read { $0.engine.queuedBytes >= 30_000 } })
        for client in receivers { sessions.end(client, .closed) }
        #expect(sessions.budget.used < 20_000, "what nobody waits for any more is gone")
    }

    @Test func `an address that fills its share can send no more, and others can`() throws {
        let sessions = sessions()
        let (greedy, friend, silent, reader) = try (
            #require(sessions.open(SocketIOIdentity(user: "greedy"), from: .v4(1), isPolling: true)),
            #require(sessions.open(SocketIOIdentity(user: "friend"), from: .v4(2), isPolling: true)),
            (0..<40).map { number in
                try #require(sessions.open(SocketIOIdentity(user: "silent\(number)"), from: .v4(3), isPolling: true))
            }, #require(sessions.open(SocketIOIdentity(user: "reader"), from: .v4(4), isPolling: true))
        )
        var sent = 0
        for number in 0..<2000 where sessions.emit("chat", text(32_000), of: greedy, to: [silent[number % 40]]) {
            sent += 1
        }
        #expect((700..<790).contains(sent), "\(sent)")
        #expect(sessions.budget.used <= SocketIOSessions.maxWaitingBytes)
        #expect(sessions.emit("chat", text(32_000), of: friend, to: [reader]))
        // What it causes itself does not fit either.
        sessions.acknowledge(1, text(40_000), to: greedy)
        #expect(sessions.client(greedy.id) == nil && sessions.client(friend.id) != nil)
    }

    @Test func `where all have too little room, those for whom most waits end, and not those who read`() throws {
        let sessions = sessions()
        let reader = try #require(sessions.open(SocketIOIdentity(user: "reader"), from: .v4(100), isPolling: true))
        var strangers: [SocketIOClient] = []
        for address in 0..<5 {
            let own = try (0..<30).map { number in
                try #require(
                    sessions.open(
                        SocketIOIdentity(user: "s\(address)x\(number)"), from: .v4(UInt32(address)), isPolling: true))
            }
            for number in 0..<2000 { _ = sessions.emit("chat", text(32_000), of: own[0], to: [own[number % 30]]) }
            strangers += own
        }
        #expect(sessions.budget.used <= SocketIOSessions.maxWaitingBytes)
        let friend = try #require(sessions.open(SocketIOIdentity(user: "friend"), from: .v4(101), isPolling: true))
        sessions.makeRoom(for: 8 << 20)
        #expect(sessions.budget.take(8 << 20, for: .v4(101)) != nil, "a picture of the largest size")
        #expect(sessions.emit("chat", text(32_000), of: friend, to: [reader]))
        #expect(sessions.client(reader.id) != nil && sessions.client(friend.id) != nil)
        #expect(strangers.contains { sessions.client($0.id) == nil })
    }

    // MARK: Names

    private func holder(_ name: String, _ claims: TokenClaims) -> SocketIOIdentity {
        SocketIOIdentity(name: name, token: "token of \(claims)", claims: claims)
    }

    @Test func `a token without a name gets one that no other can have`() throws {
        let alice = holder("alice1", TokenClaims(room: "a", name: "alice1"))
        let other = holder("alice1", TokenClaims(room: "elsewhere"))
        #expect(alice.user == "alice1" && other.user.hasPrefix("alice1_") && other.own == "alice1")
        #expect(!AccountBook.isName(other.user) && other.user != alice.user)
        #expect(holder("alice1", TokenClaims(room: "elsewhere", sub: "42")).account == "sub 42")
        let sessions = sessions()
        let (one, two) = try (
            #require(sessions.open(alice, from: .v4(1), isPolling: true)),
            #require(sessions.open(other, from: .v4(2), isPolling: true))
        )
        #expect(sessions.clients(of: "alice1").map(\.id) == [one.id])
        #expect(sessions.clients(of: two.user).map(\.id) == [two.id])
    }

    @Test func `a name belongs to one account at a time, whatever the order`() throws {
        let sessions = sessions()
        let (first, second) = (
            holder("alice1", TokenClaims(room: "a", name: "alice1")),
            holder("alice1", TokenClaims(room: "b", name: "alice1"))
        )
        let one = try #require(sessions.open(first, from: .v4(1), isPolling: true))
        let two = try #require(sessions.open(second, from: .v4(2), isPolling: true))
        #expect(one.user == "alice1" && two.user != "alice1" && sessions.clients(of: "alice1").count == 1)
        sessions.end(one, .closed)
        // Her messages wait for nobody else.
        pass(.seconds(3600), sessions)
        #expect(sessions.open(second, from: .v4(2), isPolling: true)?.user == two.user)
        #expect(sessions.open(first, from: .v4(7), isPolling: true)?.user == "alice1")
        #expect(sessions.clients(of: "alice1").allSatisfy { $0.identity.account == first.account })
        sessions.endAll(.closed)
        pass(SocketIONames.stay, sessions)
        #expect(sessions.open(second, from: .v4(2), isPolling: true)?.user == "alice1")
    }

    @Test func `names are remembered for a bounded number of accounts`() {
        var names = SocketIONames()
        for number in 0..<(SocketIONames.limit + 100) {
            let identity = names.enter(SocketIOIdentity(user: "user\(number)"), at: .zero + .seconds(number))
            names.leave(identity, at: .zero + .seconds(number))
        }
        #expect(names.count <= SocketIONames.limit)
    }
}
