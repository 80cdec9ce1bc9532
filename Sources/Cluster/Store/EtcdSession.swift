import Basics
import NIOCore

/// The login of a node at etcd, which all its calls share. Nothing here needs the cooperative pool, since renewals do not.
final class EtcdSession: Sendable {
    /// Asks the next member for a token.
    typealias Ask = @Sendable (_ limit: Duration) -> EventLoopFuture<Result<String, StoreError>>

    private struct State {
        var login = EtcdLogin()
        var random = SeededRandom(seed: .random(in: .min ... .max))
        var waiters: [UInt64: EventLoopPromise<String>] = [:]
        var lastWaiter: UInt64 = 0
        var isTimed = false
        var isClosed = false
        /// Why the last login failed.
        var fault = StoreError.unreachable("no member of etcd takes the login in time")
    }

    private let loop: any EventLoop
    private let ask: Ask
    private let state = Guarded(State())

    init(on loop: any EventLoop, ask: @escaping Ask) {
        self.loop = loop
        self.ask = ask
    }

    /// The token for a call; waits for a login that runs, up to a limit.
    func token(within limit: Duration) async throws(StoreError) -> String {
        let promise = loop.makePromise(of: String.self)
        let waiter = state.withLock { state -> UInt64? in
            if let token = state.login.token {
                promise.succeed(token)
                return nil
            }
            if state.isClosed {
                promise.fail(state.fault)
                return nil
            }
            state.lastWaiter += 1
            state.waiters[state.lastWaiter] = promise
            return state.lastWaiter
        }
        if let waiter {
            loop.scheduleTask(in: .nanoseconds(limit.nanoseconds)) { [self] in
                let (promise, fault) = state.withLock { ($0.waiters.removeValue(forKey: waiter), $0.fault) }
                promise?.fail(fault)
            }
            pump()
        }
        do {
            return try await promise.futureResult.get()
        } catch {
            throw error as? StoreError ?? .unreachable("\(error)")
        }
    }

    func answered() { state.withLock { $0.login.answered() } }

    func refused(_ token: String) {
        state.withLock { $0.login.refused(token, at: BootInstant.now(), &$0.random) }
        pump()
    }

    func unanswered() {
        state.withLock { $0.login.unanswered() }
        pump()
    }

    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.fail(StoreError.unreachable("the node ends")) }
    }

    /// Begins a login that is due, or comes back when it is.
    private func pump() {
        let limit = state.withLock { state -> Duration? in
            let now = BootInstant.now()
            guard !state.isClosed, let due = state.login.due else { return nil }
            if state.login.begin(at: now) { return state.login.limit }
            guard !state.isTimed else { return nil }
            state.isTimed = true
            loop.scheduleTask(in: .nanoseconds((due - now).nanoseconds)) { [self] in
                self.state.withLock { $0.isTimed = false }
                pump()
            }
            return nil
        }
        guard let limit else { return }
        ask(limit).whenComplete { [self] answer in
            switch answer {
            case .success(.success(let token)): given(token)
            case .success(.failure(let fault)): failed(fault)
            case .failure(let error): failed(.unreachable("\("\(error)".prefix(200))"))
            }
        }
    }

    private func given(_ token: String) {
        let waiters = state.withLock { state in
            state.login.given(token, at: BootInstant.now())
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.succeed(token) }
    }

    /// A member that does not answer may be one of several: who waits goes on. A password that is refused is so by all.
    private func failed(_ fault: StoreError) {
        let waiters = state.withLock { state in
            state.fault = fault
            state.login.failed(at: BootInstant.now(), &state.random)
            var ended: [EventLoopPromise<String>] = []
            if case .refused = fault {
                ended = Array(state.waiters.values)
                state.waiters = [:]
            }
            return ended
        }
        for waiter in waiters { waiter.fail(fault) }
        pump()
    }
}
