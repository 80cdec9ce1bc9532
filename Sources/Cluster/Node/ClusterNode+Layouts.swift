import Basics
import Logging

/// The layouts that were put at run time: the store has them, and every node takes them over.
extension ClusterNode {
    /// Takes over what the store has now. Layouts that are known are not read again.
    func readLayouts() async throws(StoreError) {
        let listing = try await store.list(.layouts, hasValues: false)
        let comparison = layouts.withLock { layouts in
            let comparison = layouts.compare(listing)
            for name in comparison.removed { host.useLayout(name, nil) }
            return comparison
        }
        if comparison.excess > 0 {
            logger.warning(
                "the store has more layouts than are used; remove some by DELETE /api/layouts/{name}",
                metadata: ["used": "\(LayoutCopy.most)", "unused": "\(comparison.excess)"])
        }
        for name in comparison.wanted {
            do {
                let result = try await store.commit(Transaction(operations: [.read(.layout(name))]))
                if let entry = result.entry(.layout(name)) {
                    use(entry, name)
                } else {
                    remove(name, at: result.revision)
                }
            } catch .unreadable(let why) {
                refuse(name, why)
                layouts.withLock { $0.refuse(name, revision: listing.revision) }
            }
        }
        await host.settleLayouts()
        state.withLock { $0.hasLayouts = true }
    }

    /// Takes over what the watch shows.
    func takeLayouts(_ changes: StoreChanges) {
        for change in changes.changes {
            switch change {
            case .put(let entry): if case .layout(let name) = entry.key { use(entry, name) }
            case .delete(.layout(let name), let revision): remove(name, at: revision)
            case .delete: break
            }
        }
    }

    private func use(_ entry: StoreEntry, _ name: String) {
        let outcome = layouts.withLock { layouts in
            let outcome = layouts.take(name, entry.value, revision: entry.revision)
            if case .use(let json) = outcome { host.useLayout(name, json) }
            return outcome
        }
        if case .refuse(let why) = outcome { refuse(name, why) }
    }

    private func remove(_ name: String, at revision: Int64) {
        layouts.withLock { layouts in if layouts.remove(name, revision: revision) { host.useLayout(name, nil) } }
    }

    private func refuse(_ name: String, _ why: String) {
        logger.warning("a layout of the store is not used: \(why)", metadata: ["layout": "\(name)"])
    }

    // MARK: Changes

    package func putLayout(_ name: String, _ json: [UInt8]) async throws(ClusterError) -> Bool {
        let key = StoreKey.layout(name)
        guard json.count <= LayoutDocument.maxBytes, LayoutDocument.isName(name),
            layouts.withLock({ $0.hasPlace(for: name) })
        else { return false }
        let revision: Int64
        do { revision = try await store.put(key, .layout(json)) } catch { throw .unavailable }
        use(StoreEntry(key: key, value: .layout(json), revision: revision, lease: 0), name)
        await host.settleLayouts()
        return true
    }

    package func deleteLayout(_ name: String) async throws(ClusterError) -> Bool {
        let key = StoreKey.layout(name)
        let result: TransactionResult
        do { result = try await store.commit(Transaction(operations: [.read(key), .delete(key)])) } catch {
            throw .unavailable
        }
        remove(name, at: result.revision)
        await host.settleLayouts()
        return result.entry(key) != nil
    }
}
