/// The store that the nodes share, as far as a cluster needs it: etcd's calls, whatever carries them.
protocol ClusterStore: Sendable {
    /// Makes a lease, which ends when it is not renewed for its time to live.
    func grant(_ ttl: Duration) async throws(StoreError) -> StoreLease
    /// Renews a lease; nil: there is no such lease any more. Each endpoint gets `limit`.
    func renew(_ lease: Int64, within limit: Duration) async throws(StoreError) -> StoreLease?
    /// Ends a lease with its keys. A lease that is gone already is no error.
    func revoke(_ lease: Int64) async throws(StoreError)
    /// Not repeatable by itself: where an answer was lost, the same transaction may have been done.
    func commit(_ transaction: Transaction) async throws(StoreError) -> TransactionResult
    /// All entries of an area at one revision, which no later one precedes.
    ///
    /// - Parameter hasValues: false: the entries' values are left out.
    func list(_ area: StoreArea, hasValues: Bool) async throws(StoreError) -> StoreListing
    /// Hands over what changes in an area from a revision on, in order. Returns by an error or by cancellation only.
    func watch(_ area: StoreArea, from revision: Int64, _ take: @Sendable (StoreChanges) async -> Void)
        async throws(StoreError)
    /// The endpoint that is asked now is blind: the next call goes to another one.
    func avoidEndpoint()
    /// Failed calls, one for each endpoint that failed.
    var errors: Int { get }
    func close() async
}

extension ClusterStore {
    func put(_ key: StoreKey, _ value: StoreValue, lease: Int64 = 0) async throws(StoreError) -> Int64 {
        try await commit(Transaction(operations: [.put(key, value, lease: lease)])).revision
    }

    func delete(_ key: StoreKey) async throws(StoreError) {
        _ = try await commit(Transaction(operations: [.delete(key)]))
    }

    /// Reads what the store has now, agreed by a majority.
    func read(_ key: StoreKey) async throws(StoreError) -> StoreEntry? {
        try await commit(Transaction(operations: [.read(key)])).entry(key)
    }
}

struct StoreLease: Hashable, Sendable {
    var id: Int64
    /// How long it runs from now.
    var ttl: Duration
}

struct StoreListing: Hashable, Sendable {
    var entries: [StoreEntry]
    var revision: Int64
}

/// What changed, up to a revision.
struct StoreChanges: Hashable, Sendable {
    enum Change: Hashable, Sendable {
        case put(StoreEntry)
        case delete(StoreKey, revision: Int64)
    }

    var changes: [Change]
    var revision: Int64
}

enum StoreError: Error, Hashable, Sendable {
    /// No endpoint answers, or none has a leader.
    case unreachable(String)
    /// The lease of the call is gone.
    case leaseGone
    /// The revision that was asked for is compacted: list again.
    case compacted
    /// The store refuses the call: rights, space, version.
    case refused(String)
    /// The store does not take the call's token.
    case unauthenticated(String)
    /// The answer is no answer to the call.
    case unreadable(String)
}
