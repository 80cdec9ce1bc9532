import Basics

@testable import Cluster

/// etcd as one machine that is always right while it is up: keys, leases, revisions.
final class SimulatedStore {
    private struct Lease {
        var ttl: Duration
        var deadline: BootInstant
    }

    private var content = StoreContent()
    private var leases: [Int64: Lease] = [:]
    private var lastLease: Int64 = 0
    /// Whether it has a leader; without one no lease ends.
    private(set) var isUp = true
    /// The earliest end of a lease.
    private(set) var nextExpiry = BootInstant.distantFuture
    /// How often its data were lost.
    private(set) var losses = 0
    private var snapshot: (content: StoreContent, leases: [Int64: Lease]) = (StoreContent(), [:])
    var onChange: (StoreChanges) -> Void = { _ in }

    var entries: [StoreKey: StoreEntry] { content.entries }
    var revision: Int64 { content.revision }

    func goDown() {
        isUp = false
        nextExpiry = .distantFuture
    }

    /// A new leader gives every lease its full time again.
    func comeUp(at now: BootInstant) {
        isUp = true
        leases = leases.mapValues { Lease(ttl: $0.ttl, deadline: now + $0.ttl) }
        findExpiry()
    }

    /// What `restore` brings back.
    func takeSnapshot() { snapshot = (content, leases) }

    /// All data are gone, or those of the last snapshot come back. Ids of leases are random in etcd, so none comes twice.
    func lose(restoring: Bool) {
        losses += 1
        (content, leases) = restoring ? snapshot : (StoreContent(), [:])
        findExpiry()
    }

    func expire(at now: BootInstant) {
        for (id, lease) in leases where lease.deadline <= now { end(id) }
        findExpiry()
    }

    private func findExpiry() {
        nextExpiry = isUp ? leases.values.map(\.deadline).min() ?? .distantFuture : .distantFuture
    }

    private func end(_ id: Int64) {
        leases[id] = nil
        if let changes = content.end(id) { onChange(changes) }
    }

    // MARK: Calls

    func grant(_ ttl: Duration, at now: BootInstant) -> StoreLease {
        lastLease += 1
        leases[lastLease] = Lease(ttl: ttl, deadline: now + ttl)
        findExpiry()
        return StoreLease(id: lastLease, ttl: ttl)
    }

    func renew(_ id: Int64, at now: BootInstant) -> StoreLease? {
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
        do throws(StoreError) {
            let (result, changes) = try content.commit(transaction) { leases[$0] != nil }
            if let changes { onChange(changes) }
            return .success(result)
        } catch {
            return .failure(error)
        }
    }

    func list() -> StoreListing { StoreListing(entries: Array(entries.values), revision: revision) }
}
