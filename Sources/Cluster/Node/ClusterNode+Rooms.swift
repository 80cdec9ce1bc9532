import Basics
import FoundationEssentials
import Logging

/// What the node does with its own keys: reports, claims, releases, states.
extension ClusterNode {
    private static let comparisonPeriod = Duration.seconds(1)
    /// How often the states of rooms that nobody has are looked for, and how old they become.
    private static let collection = Duration.seconds(600)
    private static let orphanAge = Duration.seconds(3600)

    /// Reports the load every two seconds.
    func report() async {
        while !Task.isCancelled {
            await reportOnce()
            checkWatch()
            try? await Task.sleep(for: DeathEvidence.reportPeriod)
        }
    }

    private func reportOnce() async {
        let load = host.load
        let (lease, id, known) = state.withLock { ($0.membership.leaseID, $0.copy.id, $0.copy.highest) }
        guard let lease else { return }
        do {
            let revision = try await store.put(.load(id), .load(load), lease: lease)
            noteWrites(nil)
            // A store that has lost data, behind a watch that has not noticed.
            if revision < known {
                state.withLock { $0.watch }?.cancel()
                return
            }
            // The time is that of the first report which the watch does not show.
            state.withLock { state in
                let isBehind = state.copy.revision < state.reported.revision
                state.reported = (revision, isBehind ? state.reported.at : BootInstant.now())
            }
        } catch .leaseGone {
            state.withLock { $0.membership.leaseGone(lease: lease, at: BootInstant.now()) }
        } catch .refused(let why) {
            noteWrites(why)
        } catch {}
    }

    /// A store whose quota is reached renews leases and answers, and takes no room.
    private func noteWrites(_ fault: String?) {
        let before = state.withLock { state in
            defer { state.storeFault = fault }
            return state.storeFault
        }
        if let fault, before == nil {
            logger.error("etcd takes no writes, so no room can be placed: \(fault)")
        } else if fault == nil, before != nil {
            logger.notice("etcd takes writes again")
        }
    }

    /// Compares the rooms that are here with the store's, each second and whenever owners change.
    func compare() async {
        let ticks = Task { [comparisons] in
            while !Task.isCancelled {
                comparisons.yield()
                try? await Task.sleep(for: Self.comparisonPeriod)
            }
        }
        defer { ticks.cancel() }
        for await _ in comparisonStream {
            await compareOnce()
            await storeStates()
            await announceDraining()
            // Changes of owners come in bursts.
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    private func compareOnce() async {
        let rooms = host.rooms
        let decisions = state.withLock { state -> [OwnedRooms.Decision] in
            let now = BootInstant.now()
            guard state.membership.standing(at: now) == .sure, state.isFollowing(at: now),
                let lease = state.membership.leaseID
            else { return [] }
            return state.holdings.reconcile(
                rooms, with: state.copy, incarnation: state.record.incarnation, lease: lease, at: now)
        }
        var lost: [String] = []
        for decision in decisions {
            switch decision {
            case .lose(let room): lost.append(room)
            case .release(let room, let epoch, let hasEnded): await release(room, epoch: epoch, withState: hasEnded)
            case .claim(let room, let revision):
                if await !claim(room, revision) { lost.append(room) }
            }
        }
        lose(lost, "another node has them")
    }

    /// Returns false if another node has the room.
    private func claim(_ room: String, _ revision: Int64) async -> Bool {
        let node = state.withLock { $0.copy.nodes[$0.copy.id] }
        guard let node else { return true }
        let transaction = Transaction.place(room, on: node, replacing: revision)
        guard let result = try? await store.commit(transaction) else { return true }
        let now = BootInstant.now()
        let (actions, isMine) = state.withLock { state in
            var notices: [StoreCopy.Notice] = []
            if result.isDone, case .put(let key, let value, let lease)? = transaction.operations.first {
                let entry = StoreEntry(key: key, value: value, revision: result.revision, lease: lease)
                notices = state.copy.learn(entry, at: now)
            } else if let entry = result.entry(.owner(room)) {
                notices = state.copy.learn(entry, at: now)
            } else {
                notices = state.copy.forget(.owner(room), at: result.revision, now)
            }
            let actions = handle(notices, &state, at: now)
            // Where the owner is this node itself, or nobody, the next comparison tries again.
            return (actions, (state.copy.owners[room]?.node ?? state.copy.id) == state.copy.id)
        }
        await perform(actions)
        return isMine
    }

    func release(_ room: String, epoch: Int64, withState: Bool) async {
        await commit(.release(room, epoch: epoch, withState: withState), releasing: room)
    }

    func commit(_ transaction: Transaction, releasing room: String) async {
        guard let result = try? await store.commit(transaction) else { return }
        let now = BootInstant.now()
        state.withLock { state in
            state.holdings.released(room)
            if let entry = result.entry(.owner(room)) {
                _ = state.copy.learn(entry, at: now)
            } else {
                _ = state.copy.forget(.owner(room), at: result.revision, now)
            }
        }
    }

    /// Writes the states that wait, each only while its room is this node's.
    func storeStates() async {
        let isMine = state.withLock { state in
            defer { state.isStoring = true }
            return !state.isStoring
        }
        guard isMine else { return }
        defer { state.withLock { $0.isStoring = false } }
        while let (room, bytes, epoch) = state.withLock({ $0.nextState(at: BootInstant.now()) }) {
            let transaction = Transaction(
                conditions: [.init(key: .owner(room), revision: epoch)],
                operations: [.put(.room(room), .state(bytes), lease: 0)])
            guard (try? await store.commit(transaction)) != nil else {
                // A newer one may wait already.
                return state.withLock { if $0.states[room] == nil { $0.states[room] = bytes } }
            }
        }
    }

    /// Writes the node's record anew where it says something else about draining than is so.
    func announceDraining() async {
        let (record, node) = state.withLock {
            ($0.record, $0.membership.leaseID == nil ? nil : $0.copy.nodes[$0.copy.id])
        }
        guard let node, node.record.incarnation == record.incarnation, node.record.isDraining != record.isDraining,
            let result = try? await store.commit(.register(record, lease: node.lease, replacing: node.revision))
        else { return }
        let key = StoreKey.node(record.id)
        let now = BootInstant.now()
        let entry =
            result.isDone
            ? StoreEntry(key: key, value: .node(record), revision: result.revision, lease: node.lease)
            : result.entry(key)
        guard let entry else { return }
        await perform(state.withLock { handle($0.copy.learn(entry, at: now), &$0, at: now) })
    }

    /// Deletes the states of rooms that have had no owner for an hour: their people never came back.
    func collect() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.collection + .seconds(.random(in: 0...60)))
            guard !Task.isCancelled, view.standing == .sure,
                let listing = try? await store.list(.rooms, hasValues: false)
            else { continue }
            for transaction in state.withLock({ $0.orphans(listing, at: BootInstant.now(), age: Self.orphanAge) }) {
                _ = try? await store.commit(transaction)
            }
        }
    }
}

extension ClusterNode.State {
    /// A state that waits, of a room that this node has; states of other rooms are dropped.
    fileprivate mutating func nextState(at now: BootInstant) -> (room: String, bytes: [UInt8], epoch: Int64)? {
        guard membership.standing(at: now) == .sure else { return nil }
        while let (room, bytes) = states.first {
            states[room] = nil
            if let owner = copy.owners[room], owner.node == copy.id, owner.incarnation == record.incarnation {
                return (room, bytes, owner.revision)
            }
        }
        return nil
    }

    fileprivate mutating func orphans(_ listing: StoreListing, at now: BootInstant, age: Duration) -> [Transaction] {
        var seen: [String: (revision: Int64, since: BootInstant)] = [:]
        var transactions: [Transaction] = []
        for entry in listing.entries {
            guard case .room(let room) = entry.key, entry.lease == 0, copy.owners[room] == nil else { continue }
            let since = orphans[room].flatMap { $0.revision == entry.revision ? $0.since : nil } ?? now
            if now - since < age {
                seen[room] = (entry.revision, since)
            } else {
                transactions.append(
                    Transaction(
                        conditions: [
                            .init(key: entry.key, revision: entry.revision), .init(key: .owner(room), revision: 0),
                        ], operations: [.delete(entry.key)]))
            }
        }
        orphans = seen
        return transactions
    }
}
