/// Several operations at once, on condition.
struct Transaction: Hashable, Sendable {
    /// A key's last write was at this revision; 0: the key is not there.
    struct Condition: Hashable, Sendable {
        var key: StoreKey
        var revision: Int64
    }

    enum Operation: Hashable, Sendable {
        /// Lease 0 is none.
        case put(StoreKey, StoreValue, lease: Int64)
        case delete(StoreKey)
        case read(StoreKey)
    }

    /// What must hold; nothing always holds.
    var conditions: [Condition] = []
    var operations: [Operation] = []
    /// What is done if a condition does not hold.
    var otherwise: [Operation] = []
}

struct TransactionResult: Hashable, Sendable {
    /// Whether all conditions held.
    var isDone: Bool
    var revision: Int64
    /// What was read.
    var entries: [StoreEntry] = []

    func entry(_ key: StoreKey) -> StoreEntry? { entries.first { $0.key == key } }
}
