import Basics

@testable import Cluster

/// etcd as one machine that is always right while it is up: keys, leases, revisions.
final class SimulatedStore {
    private struct Lease {
        var ttl: Duration
        var deadline: Instant
    }

    private(set) var entries: [StoreKey: StoreEntry] = [:]
    private var leases: [Int64: Lease] = [:]
    private(set) var revision: Int64 = 1
    private var lastLease: Int64 = 0
    /// Whether it has a leader; without one no lease ends.
    private(set) var isUp = true
    /// The earliest end of a lease.
    private(set) var nextExpiry = Instant.distantFuture
    /// How often its data were lost.
    private(set) var losses = 0
    private var snapshot: (entries: [StoreKey: StoreEntry], leases: [Int64: Lease], revision: Int64) = ([:], [:], 1)
    var onChange: (StoreChanges) -> Void = { _ in }

    func goDown() {
        isUp = false
        nextExpiry = .distantFuture
    }

    /// A new leader gives every lease its full time again.
    func comeUp(at now: Instant) {
        isUp = true
        leases = leases.mapValues { Lease(ttl: $0.ttl, deadline: now + $0.ttl) }
        findExpiry()
    }

    /// What `restore` brings back.
    func takeSnapshot() { snapshot = (entries, leases, revision) }

    /// All data are gone, or those of the last snapshot come back. Ids of leases are random in etcd, so none comes twice.
    func lose(restoring: Bool) {
        losses += 1
        (entries, leases, revision) = restoring ? snapshot : ([:], [:], 1)
        findExpiry()
    }

    func expire(at now: Instant) {
        for (id, lease) in leases where lease.deadline <= now { end(id) }
        findExpiry()
    }

    private func findExpiry() {
        nextExpiry = isUp ? leases.values.map(\.deadline).min() ?? .distantFuture : .distantFuture
    }

    private func end(_ id: Int64) {
        leases[id] = nil
        let keys = entries.values.filter { $0.lease == id }.map(\.key)
        guard !keys.isEmpty else { return }
        revision += 1
        for key in keys { entries[key] = nil }
        onChange(StoreChanges(changes: keys.map { .delete($0, revision: revision) }, revision: revision))
    }

    // MARK: Calls

    func grant(_ ttl: Duration, at now: Instant) -> StoreLease {
        lastLease += 1
        leases[lastLease] = Lease(ttl: ttl, deadline: now + ttl)
        findExpiry()
        return StoreLease(id: lastLease, ttl: ttl)
    }

    func renew(_ id: Int64, at now: Instant) -> StoreLease? {
        guard let lease = leases[id] else { return nil }
        leases[id]?.deadline = now + lease.ttl
        findExpiry()
        return StoreLease(id: id, ttl: lease.ttl)
    }

    func revoke(_ id: Int64) {
        end(id)
        findExpiry()
    }

    func commit(_ transaction: Transaction) -> Result<TransactionResult, StoreError> {
        let isDone = transaction.conditions.allSatisfy { (entries[$0.key]?.revision ?? 0) == $0.revision }
        var result = TransactionResult(isDone: isDone, revision: revision)
        var changes: [StoreChanges.Change] = []
        let next = revision + 1
        for operation in isDone ? transaction.operations : transaction.otherwise {
            switch operation {
            case .put(let key, let value, let lease):
                guard lease == 0 || leases[lease] != nil else { return .failure(.leaseGone) }
                let entry = StoreEntry(key: key, value: value, revision: next, lease: lease)
                entries[key] = entry
                changes.append(.put(entry))
            case .delete(let key):
                if entries.removeValue(forKey: key) != nil { changes.append(.delete(key, revision: next)) }
            case .read(let key):
                if let entry = entries[key] { result.entries.append(entry) }
            }
        }
        if !changes.isEmpty {
            revision = next
            onChange(StoreChanges(changes: changes, revision: revision))
        }
        result.revision = revision
        return .success(result)
    }

    func list() -> StoreListing { StoreListing(entries: Array(entries.values), revision: revision) }
}
