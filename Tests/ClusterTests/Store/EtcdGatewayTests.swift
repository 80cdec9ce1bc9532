import Basics
import Glibc
import TestSupport
import Testing

@testable import Cluster

/// The gateway's client towards members that fail, and servers that are none.
@Suite struct EtcdGatewayTests {
    /// - Parameter limit: what a member has for an answer; the product's 1 s where silence is tried.
    private func gateway(
        _ servers: [ScriptedServer], user: String = "", limit: Duration = .seconds(30)
    ) throws -> EtcdGateway {
        var settings = ClusterSettings()
        (settings.etcd, settings.user, settings.password) = (servers.map(\.url), user, user.isEmpty ? "" : "pass")
        return try EtcdGateway(settings, limit: limit)
    }

    private static let granted = ScriptedServer.json(#"{"header":{"revision":"3"},"ID":"77","TTL":"6"}"#)

    @Test func `a member that does not answer, or answers nonsense, is passed over`() async throws {
        let answers: [String?] = [
            nil, ScriptedServer.json("<html>"), ScriptedServer.json("{}", status: "502 Bad Gateway"),
            ScriptedServer.json(#"{"code":14,"message":"etcdserver: no leader"}"#, status: "503 Service Unavailable"),
            "\u{1}\u{2}\r\n\r\n",
            ScriptedServer.json(String(repeating: "x", count: 5 << 20)),
        ]
        let bad = answers.map { answer in ScriptedServer { _ in answer } }
        let good = ScriptedServer { _ in Self.granted }
        let store = try gateway(bad + [good], limit: .seconds(1))
        let begin = ContinuousClock.now
        #expect(try await store.grant(.seconds(6)) == StoreLease(id: 77, ttl: .seconds(6)))
        #expect(store.errors == bad.count)
        #expect(ContinuousClock.now - begin < .seconds(40), "one of them costs a second")
        // The one that answered is asked first now.
        _ = try await store.grant(.seconds(6))
        #expect(store.errors == bad.count && good.requests.count == 2)
        await store.close()
    }

    @Test func `a lease that is gone, and answers that belong to no call`() async throws {
        let answer = Guarded("")
        let server = ScriptedServer { _ in answer.withLock { ScriptedServer.json($0) } }
        let store = try gateway([server])
        answer.withLock { $0 = #"{"result":{"header":{"revision":"9"},"ID":"5"}}"# }
        #expect(try await store.renew(5, within: .seconds(30)) == nil)
        answer.withLock { $0 = #"{"result":{"ID":"5","TTL":"4"}}"# }
        #expect(try await store.renew(5, within: .seconds(30))?.ttl == .seconds(4))
        await #expect(throws: StoreError.unreadable("another lease")) { try await store.renew(6, within: .seconds(30)) }
        answer.withLock { $0 = #"{"header":{}}"# }
        await #expect(throws: StoreError.self) { try await store.grant(.seconds(1)) }
        await #expect(throws: StoreError.self) { try await store.list(.followed, hasValues: true) }
        // Revisions that no watch can go on behind.
        for revision in ["9223372036854775807", "-1", "9223372036854775808"] {
            answer.withLock { $0 = #"{"header":{"revision":"\#(revision)"}}"# }
            await #expect(throws: StoreError.self) { try await store.list(.followed, hasValues: true) }
        }
        // A list that never ends.
        answer.withLock { $0 = #"{"header":{"revision":"2"},"more":true,"kvs":[]}"# }
        await #expect(throws: StoreError.self) { try await store.list(.followed, hasValues: true) }
        await store.close()
    }

    @Test func `a password becomes a token, which is renewed when it has ended`() async throws {
        let server = ScriptedServer { request in
            if request.path == "/v3/auth/authenticate" {
                return ScriptedServer.json(#"{"token":"token-\#(request.body.contains("\"pass\""))"}"#)
            }
            return request.head.lowercased().contains("authorization: token-true")
                ? Self.granted
                : ScriptedServer.json(
                    #"{"error":"etcdserver: user name is empty","code":3}"#, status: "400 Bad Request")
        }
        let store = try gateway([server], user: "tessera")
        #expect(try await store.grant(.seconds(6)).id == 77)
        #expect(try await store.grant(.seconds(6)).id == 77)
        #expect(server.requests.map(\.path).filter { $0.hasSuffix("authenticate") }.count == 1)
        await store.close()

        let refuses = ScriptedServer { request in
            request.path == "/v3/auth/authenticate"
                ? ScriptedServer.json(#"{"token":"t\#(request.body.utf8.count)"}"#)
                : ScriptedServer.json(
                    #"{"error":"etcdserver: invalid auth token","code":16}"#, status: "401 Unauthorized")
        }
        let other = try gateway([refuses], user: "tessera")
        await #expect(throws: StoreError.self) { try await other.grant(.seconds(6)) }
        #expect(refuses.requests.count == 4, "two tokens, two calls, and no more")
        await other.close()
    }

    @Test
    func `all tasks share one login, which goes on after a call has given up, and a silent member takes no token away`()
        async throws
    {
        let isSilent = Guarded(false)
        let server = ScriptedServer { request in
            if request.path == "/v3/auth/authenticate" {
                // As etcd with busy processors: longer than a call has.
                usleep(1_400_000)
                return ScriptedServer.json(#"{"token":"good"}"#)
            }
            return isSilent.withLock { $0 } ? nil : Self.granted
        }
        let store = try gateway([server], user: "tessera", limit: .seconds(1))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    await #expect(throws: StoreError.self) { try await store.grant(.seconds(6)) }
                }
            }
        }
        #expect(await eventually { (try? await store.grant(.seconds(6))) != nil })
        func logins() -> Int { server.requests.count { $0.path == "/v3/auth/authenticate" } }
        #expect(logins() == 1)
        isSilent.withLock { $0 = true }
        await #expect(throws: StoreError.self) { try await store.grant(.seconds(6)) }
        isSilent.withLock { $0 = false }
        #expect(try await store.grant(.seconds(6)).id == 77)
        #expect(logins() == 1)
        await store.close()
    }

    @Test func `a gateway that nobody closed ends with its connections`() async throws {
        let server = ScriptedServer { _ in Self.granted }
        var store: EtcdGateway? = try gateway([server])
        weak let end = store
        #expect(try await store?.grant(.seconds(6)).id == 77)
        store = nil
        #expect(await eventually { end == nil })
    }

    @Test(arguments: [
        (#"{"result":{"canceled":true,"compact_revision":"7"}}"# + "\n", StoreError.compacted),
        (#"{"error":{"grpc_code":14,"message":"etcdserver: no leader"}}"#, .unreachable("etcdserver: no leader")),
        ("nonsense\n", .unreadable("no Watch")), ("", .unreachable("the watch ended")),
    ])
    func `a watch ends by an error`(body: String, error: StoreError) async throws {
        let server = ScriptedServer { _ in ScriptedServer.json(body) }
        let store = try gateway([server])
        await #expect(throws: error) { try await store.watch(.followed, from: 1) { _ in } }
        #expect(server.requests.first?.head.lowercased().contains("grpc-metadata-hasleader: true") == true)
        await store.close()
    }
}
