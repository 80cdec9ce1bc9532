import AsyncHTTPClient
import Basics
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix

/// etcd by the JSON gateway of its servers, `/v3/…`, from 3.4 to 3.6. A call that an endpoint does not answer in time
/// goes to the next one; the one that answered is asked first the next time.
final class EtcdGateway: ClusterStore {
    private struct State {
        /// The endpoint to be asked first.
        var preferred = 0
        var errors = 0
        var isClosed = false
    }

    /// How long one endpoint has for a call.
    private let limit: Duration
    /// More than one page of a listing, whose values are at most 512 KiB for one key and else about 100 bytes.
    private static let answerBytes = 4 << 20
    private static let page = 1000
    /// Pages of a listing: a million keys.
    private static let pages = 1000

    private let endpoints: [String]
    private let group: MultiThreadedEventLoopGroup
    private let client: HTTPClient
    private let state = Guarded(State())
    /// nil: etcd has no users.
    private let session: EtcdSession?
    private static let silence = "no answer in time"

    init(_ settings: ClusterSettings, limit: Duration = .seconds(1)) throws(ClusterFault) {
        self.limit = limit
        endpoints = settings.etcd.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        // A loop of its own: the server's loops may be busy when a renewal is due.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        self.group = group
        do {
            client = try HTTPClient(cluster: settings.tls, connectTimeout: limit, group: group)
        } catch {
            group.shutdownGracefully { _ in }
            throw error
        }
        session =
            settings.user.isEmpty || endpoints.isEmpty
            ? nil : Self.login(settings, endpoints, client, on: group.any())
    }

    var errors: Int { state.withLock { $0.errors } }

    func avoidEndpoint() { failed(state.withLock { $0.preferred }) }

    func close() async {
        state.withLock { $0.isClosed = true }
        session?.close()
        try? await client.shutdown()
        try? await group.shutdownGracefully()
    }

    deinit {
        // The client may not end open: where nobody has closed it, for an error on the way, it closes itself.
        guard !state.withLock({ $0.isClosed }) else { return }
        session?.close()
        client.shutdown { [group] _ in group.shutdownGracefully { _ in } }
    }

    // MARK: Leases

    func grant(_ ttl: Duration) async throws(StoreError) -> StoreLease {
        let answer = try await call(EtcdAnswer.Grant.self, "/v3/lease/grant", EtcdRequest.grant(ttl))
        guard let id = answer.ID?.value, id != 0, let seconds = answer.TTL?.value, seconds > 0 else {
            throw .unreadable("a lease without an id")
        }
        return StoreLease(id: id, ttl: .seconds(min(seconds, 3600)))
    }

    func renew(_ lease: Int64, within limit: Duration) async throws(StoreError) -> StoreLease? {
        let answer: EtcdAnswer.Grant
        do {
            answer = try await call(
                EtcdAnswer.Keepalive.self, "/v3/lease/keepalive", EtcdRequest.lease(lease), within: limit
            ).result
        } catch .leaseGone { return nil }
        // The renewal of a lease that is gone has status 200 and no TTL.
        guard answer.ID?.value == lease else { throw .unreadable("another lease") }
        guard let seconds = answer.TTL?.value, seconds > 0 else { return nil }
        return StoreLease(id: lease, ttl: .seconds(min(seconds, 3600)))
    }

    func revoke(_ lease: Int64) async throws(StoreError) {
        struct Nothing: Decodable {}
        do { _ = try await call(Nothing.self, "/v3/lease/revoke", EtcdRequest.lease(lease)) } catch .leaseGone {}
    }

    // MARK: Keys

    func commit(_ transaction: Transaction) async throws(StoreError) -> TransactionResult {
        let answer = try await call(
            EtcdAnswer.Transaction.self, "/v3/kv/txn", EtcdRequest.transaction(transaction))
        guard let result = answer.result else { throw .unreadable("a transaction without a revision") }
        return result
    }

    func list(_ area: StoreArea, hasValues: Bool) async throws(StoreError) -> StoreListing {
        var listing = StoreListing(entries: [], revision: 0)
        var begin = area.begin
        for _ in 0..<Self.pages {
            let body = EtcdRequest.range(
                from: begin, to: area.end, limit: Self.page, revision: listing.revision, hasValues: hasValues)
            let answer = try await call(EtcdAnswer.Range.self, "/v3/kv/range", body)
            if listing.revision == 0 {
                guard let revision = answer.revision else {
                    throw .unreadable("a listing without a revision")
                }
                listing.revision = revision
            }
            let pairs = answer.kvs ?? []
            listing.entries += pairs.compactMap(\.entry)
            guard answer.more == true else { return listing }
            // The next page starts behind the last key.
            guard let last = pairs.last?.text, last >= begin else { throw .unreadable("a page without keys") }
            begin = last + "\0"
        }
        throw .refused("too many keys")
    }

    func watch(_ area: StoreArea, from revision: Int64, _ take: @Sendable (StoreChanges) async -> Void)
        async throws(StoreError)
    {
        let index = state.withLock { $0.preferred }
        do {
            try await watch(area, from: revision, at: index, take)
        } catch {
            if !Task.isCancelled { failed(index) }
            throw error
        }
    }

    private func watch(
        _ area: StoreArea, from revision: Int64, at index: Int, _ take: @Sendable (StoreChanges) async -> Void
    ) async throws(StoreError) {
        // Without the second header a member that is cut off keeps the watch open, and even tells of progress.
        let token = try await token(within: limit)
        var request = try request(index, "/v3/watch", EtcdRequest.watch(area, from: revision), token)
        request.headers.replaceOrAdd(name: "Grpc-Metadata-hasleader", value: "true")
        let lines = WatchLines()
        let task = client.execute(request: request, delegate: lines)
        task.futureResult.whenComplete { _ in lines.finish() }
        defer { task.cancel() }
        do {
            for try await line in lines.stream {
                let changes = try EtcdAnswer.parse(EtcdAnswer.Watch.self, line).changes()
                lines.taken(line.count)
                if !changes.changes.isEmpty { await take(changes) }
            }
        } catch let error as StoreError {
            if case .unauthenticated = error, let token { session?.refused(token) }
            throw error
        } catch {
            throw .unreachable("the watch broke: \(Self.explain(error))")
        }
        throw .unreachable("the watch ended")
    }

    // MARK: Calls

    private func call<Answer: Decodable>(
        _ type: Answer.Type, _ path: String, _ body: String, within limit: Duration? = nil
    ) async throws(StoreError) -> Answer {
        let limit = limit ?? self.limit
        var token = try await token(within: limit)
        let first = state.withLock { $0.preferred }
        var failure = StoreError.unreachable("there is no endpoint")
        var (wasSilent, hasNewToken) = (false, false)
        for offset in endpoints.indices {
            let index = (first + offset) % endpoints.count
            while true {
                do {
                    let answer = try await call(type, path, body, token, at: index, within: limit)
                    session?.answered()
                    return answer
                } catch {
                    switch error {
                    case .unauthenticated where !hasNewToken && token != nil:
                        if let token { session?.refused(token) }
                        token = try await self.token(within: limit)
                        hasNewToken = true
                        continue
                    case .unreachable, .unreadable:
                        failed(index)
                        failure = error
                        if error == .unreachable(Self.silence) { wasSilent = true }
                    case .refused, .unauthenticated:
                        state.withLock { $0.errors += 1 }
                        throw error
                    case .leaseGone, .compacted: throw error
                    }
                }
                break
            }
        }
        if wasSilent { session?.unanswered() }
        throw failure
    }

    private func call<Answer: Decodable>(
        _ type: Answer.Type, _ path: String, _ body: String, _ token: String?, at index: Int, within limit: Duration
    ) async throws(StoreError) -> Answer {
        let answer = try await send(try request(index, path, body, token), within: limit)
        if answer.status == .ok, let result = try? EtcdAnswer.parse(type, answer.body) { return result }
        let fault: EtcdAnswer.Fault
        do { fault = try EtcdAnswer.parse(EtcdAnswer.Fault.self, answer.body) } catch {
            // What stands in front of etcd, or another server.
            throw answer.status == .ok ? error : .unreachable("status \(answer.status.code)")
        }
        throw fault.storeError
    }

    /// The next call starts at the next endpoint.
    private func failed(_ index: Int) {
        state.withLock { state in
            state.errors += 1
            if state.preferred == index { state.preferred = (index + 1) % endpoints.count }
        }
    }

    /// - Parameter token: nil: without one.
    private func request(
        _ index: Int, _ path: String, _ body: String, _ token: String?
    ) throws(StoreError) -> HTTPClient.Request {
        do {
            var request = try HTTPClient.Request(
                url: endpoints[index] + path, method: .POST, headers: ["Content-Type": "application/json"],
                body: .string(body))
            if let token { request.headers.replaceOrAdd(name: "Authorization", value: token) }
            return request
        } catch {
            throw .refused("\(endpoints[index]) is no URL")
        }
    }

    /// The token of the node's login; nil: etcd has no users.
    private func token(within limit: Duration) async throws(StoreError) -> String? {
        try await session?.token(within: limit)
    }

    /// Asks the next member for a token. Each node begins with another one, so that all of etcd shares the work.
    private static func login(
        _ settings: ClusterSettings, _ endpoints: [String], _ client: HTTPClient, on loop: any EventLoop
    ) -> EtcdSession {
        let body = EtcdRequest.authenticate(user: settings.user, password: settings.password)
        let turn = Guarded(Int.random(in: 0..<1024))
        return EtcdSession(on: loop) { limit in
            let index = turn.withLock { turn in
                turn += 1
                return turn % endpoints.count
            }
            guard
                let request = try? HTTPClient.Request(
                    url: endpoints[index] + "/v3/auth/authenticate", method: .POST,
                    headers: ["Content-Type": "application/json"], body: .string(body))
            else { return loop.makeSucceededFuture(.failure(.refused("\(endpoints[index]) is no URL"))) }
            return client.execute(
                request: request, delegate: ResponseAccumulator(request: request, maxBodySize: Self.answerBytes),
                deadline: .now() + .nanoseconds(limit.nanoseconds)
            ).futureResult.map { answer in
                Self.token(in: Data((answer.body?.readableBytesView).map { [UInt8]($0) } ?? []), answer.status)
            }.flatMapErrorThrowing { .failure(.unreachable(Self.explain($0))) }
        }
    }

    private static func token(in body: Data, _ status: HTTPResponseStatus) -> Result<String, StoreError> {
        if status == .ok, let token = try? EtcdAnswer.parse(EtcdAnswer.Authentication.self, body).token,
            token.utf8.count <= 8192, token.utf8.allSatisfy({ (33...126).contains($0) })
        {
            return .success(token)
        }
        guard let fault = try? EtcdAnswer.parse(EtcdAnswer.Fault.self, body) else {
            return .failure(.unreadable("no token"))
        }
        // What a login says of authentication is for the operator: a wrong password.
        if case .unauthenticated(let why) = fault.storeError { return .failure(.refused(why)) }
        return .failure(fault.storeError)
    }

    private func send(_ request: HTTPClient.Request, within limit: Duration) async throws(StoreError) -> (
        status: HTTPResponseStatus, body: Data
    ) {
        do {
            let answer = try await client.send(request, within: limit, answerBytes: Self.answerBytes)
            return (answer.status, answer.body)
        } catch is ResponseAccumulator.ResponseTooBigError {
            throw .unreadable("the answer is too long")
        } catch {
            throw .unreachable(Self.explain(error))
        }
    }

    private static func explain(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError where [.deadlineExceeded, .connectTimeout].contains(error):
            silence
        case let error as WatchLines.Fault: "\(error)"
        default: String("\(error)".prefix(200))
        }
    }
}
