import Basics
import Logging

/// What the endpoints ask.
extension ClusterNode {
    package func owner(of room: String) async throws(ClusterError) -> RoomOwner? {
        let now = BootInstant.now()
        let (found, isSure, isFollowing) = state.withLock { state in
            (
                state.copy.owner(of: room), state.membership.standing(at: now) == .sure, state.isFollowing(at: now)
            )
        }
        if let found, isFollowing || !isSure {
            let owner = owner(found.owner, found.record)
            // Another node may have a room that was to be here and is not.
            if owner.isHere, !isSure, !host.rooms.contains(room) { throw .unavailable }
            return owner
        }
        // While the store is down for all, nobody can take a room: what was so is so.
        guard isSure else { throw .unavailable }
        do { return try await lookUp(room) } catch {
            if let found { return owner(found.owner, found.record) }
            throw error
        }
    }

    package func lookUp(_ room: String) async throws(ClusterError) -> RoomOwner? {
        let key = StoreKey.owner(room)
        do {
            let result = try await store.commit(Transaction(operations: [.read(key)]))
            try await learn(result.entry(key), key, at: result.revision)
            guard let entry = result.entry(key) else { return nil }
            guard case .owner(let owner)? = entry.value else { throw ClusterError.unavailable }
            if state.withLock({ $0.copy.owner(of: room) }) == nil {
                let result = try await store.commit(Transaction(operations: [.read(.node(owner.node))]))
                try await learn(result.entry(.node(owner.node)), .node(owner.node), at: result.revision)
            }
        } catch let error as ClusterError {
            throw error
        } catch {
            throw .unavailable
        }
        guard let found = state.withLock({ $0.copy.owner(of: room) }) else { throw .ownerLost }
        return owner(found.owner, found.record)
    }

    private func learn(_ entry: StoreEntry?, _ key: StoreKey, at revision: Int64) async throws {
        let now = BootInstant.now()
        let actions = state.withLock { state in
            let notices = entry.map { state.copy.learn($0, at: now) } ?? state.copy.forget(key, at: revision, now)
            return handle(notices, &state, at: now)
        }
        await perform(actions)
    }

    package func place(_ room: String, _ wish: PlacementWish) async throws(ClusterError) -> RoomOwner {
        if let owner = try? await owner(of: room) { return owner }
        return try await run(Placement(room, wish))
    }

    package func place(_ room: String, insteadOf owner: RoomOwner, full: Set<String>) async throws(ClusterError)
        -> RoomOwner
    {
        try await run(Placement(moving: room, from: full.union([owner.node.id]), epoch: owner.epoch))
    }

    package func move(_ room: String) async throws(ClusterError) -> RoomOwner {
        let (id, incarnation, owner) = state.withLock { ($0.copy.id, $0.record.incarnation, $0.copy.owners[room]) }
        guard let owner, owner.node == id, owner.incarnation == incarnation else {
            // Another node has it already: its people are to go there.
            if let owner = try await lookUp(room), !owner.isHere { return owner }
            throw .unavailable
        }
        state.withLock { $0.holdings.move(room) }
        do { return try await run(Placement(moving: room, from: [id], epoch: owner.revision)) } catch {
            state.withLock { $0.holdings.take(room) }
            throw error
        }
    }

    private func run(_ begin: Placement) async throws(ClusterError) -> RoomOwner {
        var placement = begin
        var hasWritten = false
        while true {
            let now = BootInstant.now()
            let step = state.withLock { state in
                let isSure = state.membership.standing(at: now) == .sure
                return placement.next(&state.copy, isSure: isSure, at: now, &state.random)
            }
            switch step {
            case .ask(let node):
                let answer = await peers.alive(node, within: .milliseconds(300))
                state.withLock { placement.answered(answer, $0.copy, at: BootInstant.now()) }
            case .commit(let transaction):
                do {
                    let result = try await store.commit(transaction)
                    hasWritten = result.isDone
                    let actions = state.withLock { state in
                        let now = BootInstant.now()
                        let notices = placement.committed(result, transaction, &state.copy, at: now)
                        return handle(notices, &state, at: now)
                    }
                    await perform(actions)
                } catch {
                    state.withLock { placement.failed(error, &$0.copy) }
                    if case .leaseGone = error { try? await Task.sleep(for: .milliseconds(50)) }
                }
            case .done(let found, let record):
                let owner = owner(found, record)
                state.withLock { state in
                    state.counts.placements[hasWritten ? .placed : .found, default: 0] += 1
                    if owner.isHere { state.holdings.take(placement.room) }
                }
                return owner
            case .failed(let error):
                state.withLock { $0.counts.placements[error == .full ? .full : .unavailable, default: 0] += 1 }
                throw error
            }
        }
    }

    package func ownerIsGone(_ owner: RoomOwner, of room: String) async -> Bool {
        guard !owner.isHere else { return false }
        state.withLock { $0.copy.suspect(owner.node) }
        guard await hasEnded(owner.node) else {
            logger.warning(
                "this node does not reach another one, which lives", metadata: ["node": "\(owner.node.id)"])
            return false
        }
        await release(room, epoch: owner.epoch, withState: false)
        return true
    }

    /// Whether a process has ended whose port refuses this node's connections. Its rooms share one inquiry.
    private func hasEnded(_ node: NodeRecord) async -> Bool {
        let inquiry = state.withLock { state in
            if let running = state.inquiries[node.incarnation] { return running }
            let task = Task { [self] in
                let isGone = await inquire(node)
                Task { [self] in
                    try? await Task.sleep(for: .milliseconds(500))
                    forgetInquiry(node)
                }
                return isGone
            }
            state.inquiries[node.incarnation] = task
            return task
        }
        return await inquiry.value
    }

    private func forgetInquiry(_ node: NodeRecord) { state.withLock { $0.inquiries[node.incarnation] = nil } }

    private func inquire(_ node: NodeRecord) async -> Bool {
        let asked = state.withLock { state in
            let others = state.copy.nodes.values.map(\.record).filter { ![state.copy.id, node.id].contains($0.id) }
            return Array(others.shuffled(using: &state.random).prefix(3))
        }
        let witnesses = await withTaskGroup(of: PeerReach?.self) { group in
            for other in asked {
                group.addTask { [peers] in await peers.witness(other, of: node, within: .milliseconds(600)) }
            }
            return await group.reduce(into: [PeerReach]()) { if let reach = $1 { $0.append(reach) } }
        }
        let age = state.withLock { $0.copy.silence(of: node, at: BootInstant.now()) }
        return DeathEvidence.suffices(witnesses: witnesses, silence: age)
    }

    /// The answer to `GET /cluster/reaches`: whether this node reaches another one.
    package func reaches(_ id: String, _ incarnation: String) async -> PeerReach {
        let (node, own) = state.withLock { ($0.copy.nodes[id]?.record, $0.record) }
        if id == own.id { return incarnation == own.incarnation ? .reached : .refused }
        guard let node, node.incarnation == incarnation else { return .silent }
        return PeerReach(await peers.ask(node, within: .milliseconds(300)), of: node)
    }

    /// Tells that a request for a room that is here named a later epoch: if another node has the room, it ends here.
    package func compare(_ room: String, with epoch: Int64) async {
        let known = state.withLock { $0.copy.owners[room]?.revision ?? 0 }
        guard epoch > known, let owner = try? await lookUp(room), !owner.isHere, host.rooms.contains(room) else {
            return
        }
        lose([room], "another node has them")
    }

    package func release(_ room: String, leaving left: (state: [UInt8], life: Duration)?) async {
        let epoch = state.withLock { state -> Int64? in
            guard let owner = state.copy.owners[room], owner.node == state.copy.id,
                owner.incarnation == state.record.incarnation
            else { return nil }
            state.states[room] = nil
            // Else a comparison in between would delete what is left.
            if left == nil { state.holdings.end(room) }
            return owner.revision
        }
        guard let epoch else { return }
        guard let left else { return await release(room, epoch: epoch, withState: true) }
        // The store forgets it at its time; without a lease it is deleted as one that nobody comes back to.
        let lease = (try? await store.grant(left.life))?.id ?? 0
        await commit(.release(room, epoch: epoch, leaving: left.state, lease: lease), releasing: room)
    }

    package func store(_ bytes: [UInt8], of room: String) async {
        guard bytes.count <= StoreValue.stateBytes else {
            return logger.warning(
                "a room's state is too large for its next owner",
                metadata: ["room": "\(room)", "bytes": "\(bytes.count)"])
        }
        state.withLock { $0.states[room] = bytes }
        await storeStates()
    }

    package func stored(_ room: String) async throws(ClusterError) -> [UInt8]? {
        do {
            guard let entry = try await store.read(.room(room)) else { return nil }
            guard case .state(let bytes)? = entry.value else { return nil }
            return bytes
        } catch {
            throw .unavailable
        }
    }

    package func setDraining(_ isDraining: Bool) async {
        state.withLock { $0.record.isDraining = isDraining }
        await announceDraining()
    }

    private func owner(_ owner: StoreCopy.Owner, _ record: NodeRecord) -> RoomOwner {
        let here = here
        return RoomOwner(
            node: record, epoch: owner.revision,
            isHere: record.id == here.id && record.incarnation == here.incarnation)
    }
}
