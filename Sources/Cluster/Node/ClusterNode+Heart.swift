import Basics
import FoundationEssentials
import Logging
import Threads

/// The registration and its renewals, on a thread of their own.
extension ClusterNode {
    func beat(on executor: ThreadExecutor?) async {
        var last = ClusterView.MembershipState.joining
        await withDiscardingTaskGroup { group in
            while true {
                let now = BootInstant.now()
                let (actions, standing, next, isStopped) = state.withLock { state in
                    let actions = state.isStopped ? [] : state.membership.advance(to: now)
                    return (
                        actions, state.membership.standing(at: now), state.membership.nextDeadline, state.isStopped
                    )
                }
                if isStopped { break }
                if standing != last {
                    logger.notice(
                        "cluster: this node is \(standing.rawValue)", metadata: ["before": "\(last.rawValue)"])
                    last = standing
                }
                for action in actions { group.addTask { await self.perform(action) } }
                // Short, since answers bring deadlines forward, and so that a suspended machine wakes in time.
                let pause = min(max(next - now, .milliseconds(5)), .milliseconds(100))
                if let executor { await executor.sleep(for: pause) } else { try? await Task.sleep(for: pause) }
            }
        }
        executor?.stop()
    }

    func perform(_ actions: [Membership.Action]) async {
        for action in actions { await perform(action) }
    }

    private func perform(_ action: Membership.Action) async {
        switch action {
        case .register(let takesOver): await register(takesOver: takesOver)
        case .renew(let lease, let verifying): await renew(lease, verifying: verifying)
        case .ask: await ask()
        case .relist: state.withLock { $0.watch }?.cancel()
        case .claim: comparisons.yield()
        case .loseAll: lose(host.rooms, "other nodes have them, or will")
        case .warnDisplaced:
            logger.error(
                "another process uses the id of this node; give each its own cluster.node",
                metadata: ["node": "\(here.id)"])
        }
    }

    private func register(takesOver: Bool) async {
        do {
            // Rooms that come here find the layouts that they had.
            if !state.withLock({ $0.hasLayouts }) { try await readLayouts() }
            let record = here
            let key = StoreKey.node(record.id)
            var existing = try await store.read(key)
            if case .node(let other)? = existing?.value, other.incarnation != record.incarnation {
                guard takesOver else { return await displaced() }
                // An earlier process of this node: its rooms go with its lease.
                if let lease = existing?.lease, lease != 0 {
                    try await store.revoke(lease)
                    existing = nil
                }
            }
            let sent = BootInstant.now()
            let lease = try await store.grant(settings.ttl)
            let result = try await store.commit(.register(record, lease: lease.id, replacing: existing?.revision ?? 0))
            // An answer that was lost on its way leaves this node's own record there.
            guard result.isDone || result.entry(key)?.lease == lease.id else {
                try? await store.revoke(lease.id)
                if case .node(let other)? = result.entry(key)?.value, other.incarnation != record.incarnation {
                    return await displaced()
                }
                return state.withLock { $0.membership.registrationFailed(at: BootInstant.now()) }
            }
            let revision = result.isDone ? result.revision : result.entry(key)?.revision ?? result.revision
            let now = BootInstant.now()
            let actions = state.withLock { state in
                let entry = StoreEntry(key: key, value: .node(record), revision: revision, lease: lease.id)
                let actions = state.membership.registered(
                    lease: lease.id, ttl: lease.ttl, sent: sent, revision: revision, at: now)
                return actions + handle(state.copy.learn(entry, at: now), &state, at: now)
            }
            await perform(actions)
        } catch {
            logger.debug("the node cannot register: \(error)")
            state.withLock { $0.membership.registrationFailed(at: BootInstant.now()) }
        }
    }

    private func displaced() async {
        await perform(state.withLock { $0.membership.displaced(at: BootInstant.now()) })
    }

    private func renew(_ lease: Int64, verifying: Bool) async {
        let sent = BootInstant.now()
        do {
            let limit = state.withLock { $0.membership.configuration.renewalLimit }
            guard let renewed = try await store.renew(lease, within: limit) else {
                return state.withLock { $0.membership.leaseGone(lease: lease, at: BootInstant.now()) }
            }
            let record = here
            var isThere: Bool?
            if verifying {
                let entry = try await store.read(.node(record.id))
                isThere = entry?.lease == lease
            }
            let actions = state.withLock {
                $0.membership.renewed(
                    lease: lease, ttl: renewed.ttl, sent: sent, isRecordThere: isThere, at: BootInstant.now())
            }
            await perform(actions)
        } catch {
            state.withLock { $0.membership.renewalFailed(lease: lease, at: BootInstant.now()) }
        }
    }

    private func ask() async {
        let asked = state.withLock { state in
            let others = state.copy.nodes.values.map(\.record).filter { $0.id != state.copy.id }
            return Array(others.shuffled(using: &state.random).prefix(3))
        }
        let answers = await withTaskGroup(of: AliveAnswer?.self) { group in
            for node in asked {
                group.addTask { [peers] in await peers.alive(node, within: .milliseconds(300)) }
            }
            return await group.reduce(into: [AliveAnswer]()) { list, answer in
                if let answer { list.append(answer) }
            }
        }
        let actions = state.withLock {
            $0.membership.answers(answers, asked: asked.count, at: BootInstant.now())
        }
        await perform(actions)
    }
}
