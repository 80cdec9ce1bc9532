@testable import Cluster

/// The keys of a store, and what etcd does with a transaction and with the end of a lease. A value.
struct StoreContent {
    private(set) var entries: [StoreKey: StoreEntry] = [:]
    private(set) var revision: Int64 = 1

    /// - Parameter hasLease: whether a lease runs.
    /// - Returns: the answer, and what those who watch see; nil: nothing has changed.
    mutating func commit(_ transaction: Transaction, hasLease: (Int64) -> Bool) throws(StoreError) -> (
        result: TransactionResult, changes: StoreChanges?
    ) {
        let isDone = transaction.conditions.allSatisfy { (entries[$0.key]?.revision ?? 0) == $0.revision }
        var result = TransactionResult(isDone: isDone, revision: revision)
        var changes: [StoreChanges.Change] = []
        let next = revision + 1
        for operation in isDone ? transaction.operations : transaction.otherwise {
            switch operation {
            case .put(let key, let value, let lease):
                guard lease == 0 || hasLease(lease) else { throw .leaseGone }
                let entry = StoreEntry(key: key, value: value, revision: next, lease: lease)
                entries[key] = entry
                changes.append(.put(entry))
            case .delete(let key):
                if entries.removeValue(forKey: key) != nil { changes.append(.delete(key, revision: next)) }
            case .read(let key):
                if let entry = entries[key] { result.entries.append(entry) }
            }
        }
        guard !changes.isEmpty else { return (result, nil) }
        revision = next
        result.revision = next
        return (result, StoreChanges(changes: changes, revision: next))
    }

    /// Deletes the keys of a lease.
    mutating func end(_ lease: Int64) -> StoreChanges? {
        let keys = entries.values.filter { $0.lease == lease }.map(\.key)
        guard !keys.isEmpty else { return nil }
        revision += 1
        for key in keys { entries[key] = nil }
        return StoreChanges(changes: keys.map { .delete($0, revision: revision) }, revision: revision)
    }

    /// Writes a key that no node would write; nil: one whose value cannot be read.
    mutating func write(_ key: StoreKey, _ value: StoreValue?) -> StoreChanges {
        revision += 1
        let entry = StoreEntry(key: key, value: value, revision: revision, lease: 0)
        entries[key] = entry
        return StoreChanges(changes: [.put(entry)], revision: revision)
    }

    mutating func erase(_ key: StoreKey) -> StoreChanges {
        revision += 1
        entries[key] = nil
        return StoreChanges(changes: [.delete(key, revision: revision)], revision: revision)
    }
}
