import Basics

@testable import Cluster

/// A store in memory for nodes in real time. Its leases end by `revoke` alone.
final class MemoryStore: ClusterStore {
    struct State {
        var content = StoreContent()
        var leases: Set<Int64> = []
        var isDown = false
        /// Why it takes no writes.
        var refusal: String?
        var history: [StoreChanges] = []
        var watches: [AsyncStream<StoreChanges>.Continuation] = []
        /// The layouts whose values were read.
        var read: [String] = []
    }

    private let state = Guarded(State())

    var read: [String] { state.withLock { $0.read } }

    /// Ends every watch, and answers no call until `comeUp`.
    func goDown() {
        state.withLock { state in
            state.isDown = true
            for watch in state.watches { watch.finish() }
            state.watches = []
        }
    }

    /// All data are gone. To be called while it is down.
    func loseAll() {
        state.withLock { state in
            (state.content, state.leases, state.history) = (StoreContent(), [], [])
        }
    }

    var entries: [StoreKey: StoreEntry] { state.withLock { $0.content.entries } }

    /// Answers, renews, and takes no writes, as etcd does whose quota is reached.
    func refuseWrites(_ why: String?) { state.withLock { $0.refusal = why } }

    func comeUp() { state.withLock { $0.isDown = false } }

    /// Writes what no node would write, also while nobody is answered; nil: a value that cannot be read.
    func write(_ key: StoreKey, _ value: StoreValue?) {
        state.withLock { state in Self.tell(state.content.write(key, value), &state) }
    }

    func erase(_ key: StoreKey) { state.withLock { state in Self.tell(state.content.erase(key), &state) } }

    private static func tell(_ changes: StoreChanges?, _ state: inout State) {
        guard let changes else { return }
        state.history.append(changes)
        for watch in state.watches { watch.yield(changes) }
    }

    private func answer<Value>(_ body: (inout State) throws(StoreError) -> Value) throws(StoreError) -> Value {
        try state.withLock { state throws(StoreError) in
            if state.isDown { throw .unreachable("down") }
            return try body(&state)
        }
    }

    // MARK: Calls

    func grant(_ ttl: Duration) async throws(StoreError) -> StoreLease {
        try answer { state in
            let id = Int64.random(in: 1...Int64.max)
            state.leases.insert(id)
            return StoreLease(id: id, ttl: ttl)
        }
    }

    func renew(_ lease: Int64, within limit: Duration) async throws(StoreError) -> StoreLease? {
        try answer { $0.leases.contains(lease) ? StoreLease(id: lease, ttl: .seconds(3)) : nil }
    }

    func revoke(_ lease: Int64) async throws(StoreError) {
        try answer { state in
            state.leases.remove(lease)
            Self.tell(state.content.end(lease), &state)
        }
    }

    func commit(_ transaction: Transaction) async throws(StoreError) -> TransactionResult {
        try answer { state throws(StoreError) in
            let writes = transaction.operations.contains { if case .put = $0 { true } else { false } }
            if writes, let why = state.refusal { throw .refused(why) }
            let leases = state.leases
            let (result, changes) = try state.content.commit(transaction) { leases.contains($0) }
            for operation in result.isDone ? transaction.operations : transaction.otherwise {
                if case .read(.layout(let name)) = operation { state.read.append(name) }
            }
            Self.tell(changes, &state)
            return result
        }
    }

    func list(_ area: StoreArea, hasValues: Bool) async throws(StoreError) -> StoreListing {
        try answer { state in
            var entries = state.content.entries.values.filter { Self.contains(area, $0.key) }
            if !hasValues { for index in entries.indices { entries[index].value = nil } }
            return StoreListing(entries: entries, revision: state.content.revision)
        }
    }

    func watch(_ area: StoreArea, from revision: Int64, _ take: @Sendable (StoreChanges) async -> Void)
        async throws(StoreError)
    {
        let (stream, watch) = AsyncStream.makeStream(of: StoreChanges.self)
        try answer { state in
            for changes in state.history where changes.revision >= revision { watch.yield(changes) }
            state.watches.append(watch)
        }
        for await var changes in stream {
            changes.changes.removeAll { change in
                switch change {
                case .put(let entry): !Self.contains(area, entry.key)
                case .delete(let key, _): !Self.contains(area, key)
                }
            }
            if !changes.changes.isEmpty { await take(changes) }
        }
        throw .unreachable("the watch ended")
    }

    private static func contains(_ area: StoreArea, _ key: StoreKey) -> Bool {
        area.begin <= key.text && key.text < area.end
    }

    func avoidEndpoint() {}
    var errors: Int { 0 }
    func close() async {}
}
