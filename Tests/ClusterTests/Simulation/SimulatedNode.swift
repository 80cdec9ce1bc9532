import Basics

@testable import Cluster

/// A node with the values that decide, and the steps that `ClusterNode` performs, in virtual time.
final class SimulatedNode {
    let index: Int
    let id: String
    unowned let world: ClusterSimulation
    private(set) var record: NodeRecord
    private(set) var membership: Membership
    private(set) var copy: StoreCopy
    private var holdings = OwnedRooms()
    private(set) var rooms: Set<String> = []
    /// Steps of an earlier process are dropped.
    private(set) var generation = 0
    private(set) var isRunning = true
    var pausedUntil = BootInstant.distantPast
    /// Whether the first listing came.
    private var isWatching = false
    private var watch = 0
    /// The store's losses when it was listed: the watch is of that store.
    private var watched = 0
    /// What came while the link was cut: the connection brings it later.
    private var stalled: [StoreChanges] = []
    private var wake = BootInstant.distantFuture
    private var isComparing = false

    init(_ index: Int, in world: ClusterSimulation) {
        (self.index, id, self.world) = (index, "n\(index)", world)
        record = NodeRecord(id: id, incarnation: "\(id).0", url: "http://\(id)")
        membership = Membership(id: id, incarnation: record.incarnation, world.configuration)
        copy = StoreCopy(id: id)
    }

    func start() {
        generation += 1
        isRunning = true
        record.incarnation = "\(id).\(generation)"
        membership = Membership(id: id, incarnation: record.incarnation, world.configuration)
        (copy, holdings, wake, stalled, isWatching, isComparing) = (
            StoreCopy(id: id), OwnedRooms(), .distantFuture, [], false, false
        )
        list()
        tick()
        pump()
    }

    func crash() {
        generation += 1
        isRunning = false
        let lost = rooms
        end(Array(lost))
        world.roomsEnded(lost, at: self)
    }

    private func end(_ names: [String]) {
        for room in names where rooms.remove(room) != nil { world.hosts[room, default: 0] -= 1 }
    }

    var alive: AliveAnswer {
        AliveAnswer(
            node: id, incarnation: record.incarnation, standing: membership.standing(at: world.now),
            sureFor: membership.sureFor(at: world.now).inSeconds, isFollowing: isWatching, revision: copy.seen,
            nodes: copy.nodes.mapValues(\.record.incarnation))
    }

    /// Whether the node, sure of its lease, has a room that its copy says is its own under this very lease.
    func isSureOwner(_ room: String) -> Bool {
        guard isRunning, rooms.contains(room), membership.standing(at: world.now) == .sure,
            let owner = copy.owners[room]
        else { return false }
        return owner.node == id && owner.incarnation == record.incarnation && owner.lease == membership.leaseID
    }

    // MARK: The heart

    private func tick() {
        compare()
        world.after(.seconds(1), on: self) { $0.tick() }
    }

    func pump() {
        for action in membership.advance(to: world.now) { perform(action) }
        let next = max(membership.nextDeadline, world.now)
        guard next < wake, next != .distantFuture else { return }
        wake = next
        world.after(next - world.now, on: self) { node in
            node.wake = .distantFuture
            node.pump()
        }
    }

    private func perform(_ action: Membership.Action) {
        switch action {
        case .register(let takesOver): register(takesOver)
        case .renew(let lease, let verifying): renew(lease, verifying)
        case .ask: ask()
        case .relist: list()
        case .claim: compare()
        case .loseAll: lose(Array(rooms))
        case .warnDisplaced: break
        }
    }

    private func perform(_ actions: [Membership.Action]) { for action in actions { perform(action) } }

    private func handle(_ notices: [StoreCopy.Notice]) {
        for notice in notices {
            switch notice {
            case .nodeGone: break
            case .ownKey(let incarnation, let revision):
                perform(membership.sawOwnKey(incarnation: incarnation, revision: revision, at: world.now))
            case .ownKeyGone(let revision): membership.sawOwnKeyGone(revision: revision, at: world.now)
            }
        }
    }

    private func register(_ takesOver: Bool) {
        let (key, record) = (StoreKey.node(id), record)
        world.call(self, { $0.commit(Transaction(operations: [.read(key)])) }) { node, result in
            guard let existing = try? result.get() else { return node.registrationFailed() }
            var entry = existing.entry(key)
            var old: Int64 = 0
            if case .node(let other)? = entry?.value, other.incarnation != record.incarnation {
                guard takesOver else { return node.perform(node.membership.displaced(at: node.world.now)) }
                old = entry?.lease ?? 0
                if old != 0 { entry = nil }
            }
            let sent = node.world.now
            node.world.call(
                node,
                { store in
                    if old != 0 { store.revoke(old) }
                    return .success(store.grant(node.membership.configuration.ttl, at: node.world.now))
                }
            ) { node, granted in
                guard let lease = try? granted.get() else { return node.registrationFailed() }
                node.write(record, lease, sent: sent, replacing: entry?.revision ?? 0)
            }
        }
    }

    private func write(_ record: NodeRecord, _ lease: StoreLease, sent: BootInstant, replacing revision: Int64) {
        let key = StoreKey.node(id)
        world.call(self, { $0.commit(.register(record, lease: lease.id, replacing: revision)) }) { node, result in
            let now = node.world.now
            guard let result = try? result.get(), result.isDone || result.entry(key)?.lease == lease.id else {
                return node.registrationFailed()
            }
            let entry = StoreEntry(key: key, value: .node(record), revision: result.revision, lease: lease.id)
            node.perform(
                node.membership.registered(
                    lease: lease.id, ttl: lease.ttl, sent: sent, revision: result.revision, at: now))
            node.handle(node.copy.learn(entry, at: now))
        }
    }

    private func registrationFailed() { membership.registrationFailed(at: world.now) }

    private func renew(_ lease: Int64, _ verifying: Bool) {
        let (sent, key) = (world.now, StoreKey.node(id))
        let limit = membership.configuration.renewalLimit
        world.call(
            self, within: limit,
            { store -> Result<(StoreLease?, StoreEntry?), StoreError> in
                .success((store.renew(lease, at: self.world.now), store.entries[key]))
            }
        ) { node, result in
            let now = node.world.now
            switch result {
            case .failure: node.membership.renewalFailed(lease: lease, at: now)
            case .success((nil, _)): node.membership.leaseGone(lease: lease, at: now)
            case .success((let renewed?, let entry)):
                node.perform(
                    node.membership.renewed(
                        lease: lease, ttl: renewed.ttl, sent: sent,
                        isRecordThere: verifying ? entry?.lease == lease : nil,
                        at: now))
            }
        }
    }

    private func ask() {
        let others = copy.nodes.values.map(\.record).filter { $0.id != id }.sorted { $0.id < $1.id }
        let asked = others.shuffled(using: &world.random).prefix(3)
        var answers: [AliveAnswer] = []
        for node in asked { world.ask(self, node.id) { if let answer = $1 { answers.append(answer) } } }
        world.after(.milliseconds(301), on: self) { node in
            node.perform(node.membership.answers(answers, asked: asked.count, at: node.world.now))
        }
    }

    // MARK: Following

    private func list() {
        watch += 1
        let watch = watch
        stalled = []
        isWatching = false
        let asked = copy.highest
        world.call(self, { .success(($0.list(), $0.losses)) }) { node, result in
            guard node.watch == watch else { return }
            guard let (listing, losses) = try? result.get() else {
                return node.world.after(.milliseconds(300), on: node) { if $0.watch == watch { $0.list() } }
            }
            node.isWatching = true
            node.watched = losses
            node.handle(node.copy.replace(listing, asked: asked, at: node.world.now))
            node.compare()
            // What came between the listing and its arrival.
            let missed = node.stalled.filter { $0.revision > listing.revision }
            node.stalled = []
            for changes in missed { node.take(changes) }
        }
    }

    /// The store has ended. Who is cut off does not hear of it.
    func endWatch() { if world.reachesStore(index) { list() } }

    /// A change in the store.
    func notify(_ changes: StoreChanges) {
        guard isRunning else { return }
        guard isWatching, watched == world.storeLosses, world.reachesStore(index), stalled.isEmpty else {
            return stalled.append(changes)
        }
        let watch = watch
        world.after(world.delay(), on: self) { if $0.watch == watch, $0.isWatching { $0.take(changes) } }
    }

    /// The link is back, and the old connection goes on.
    func deliverStalled() {
        guard isWatching else { return }
        // The member that had the connection is another process.
        if watched != world.storeLosses { return list() }
        let late = stalled
        stalled = []
        for changes in late { take(changes) }
    }

    private func take(_ changes: StoreChanges) {
        handle(copy.apply(changes, at: world.now))
        compare()
    }

    // MARK: Rooms

    private func compare() {
        guard !isComparing, isWatching, membership.standing(at: world.now) == .sure, let lease = membership.leaseID
        else { return }
        isComparing = true
        world.after(.milliseconds(50), on: self) { $0.isComparing = false }
        let decisions = holdings.reconcile(
            rooms.sorted(), with: copy, incarnation: record.incarnation, lease: lease, at: world.now)
        for decision in decisions {
            switch decision {
            case .lose(let room): lose([room])
            case .release(let room, let epoch, let hasEnded): release(room, epoch, hasEnded)
            case .claim(let room, let revision): claim(room, revision)
            }
        }
    }

    private func claim(_ room: String, _ revision: Int64) {
        guard let own = copy.nodes[id] else { return }
        let transaction = Transaction.place(room, on: own, replacing: revision)
        world.call(self, { $0.commit(transaction) }) { node, result in
            guard let result = try? result.get() else { return }
            let now = node.world.now
            if result.isDone, case .put(let key, let value, let lease)? = transaction.operations.first {
                let entry = StoreEntry(key: key, value: value, revision: result.revision, lease: lease)
                node.handle(node.copy.learn(entry, at: now))
            } else if let entry = result.entry(.owner(room)) {
                node.handle(node.copy.learn(entry, at: now))
            } else {
                node.handle(node.copy.forget(.owner(room), at: result.revision, now))
            }
            if (node.copy.owners[room]?.node ?? node.id) != node.id { node.lose([room]) }
        }
    }

    private func release(_ room: String, _ epoch: Int64, _ hasEnded: Bool) {
        world.call(self, { $0.commit(.release(room, epoch: epoch, withState: hasEnded)) }) { node, result in
            guard let result = try? result.get() else { return }
            if let entry = result.entry(.owner(room)) {
                node.handle(node.copy.learn(entry, at: node.world.now))
            } else {
                node.handle(node.copy.forget(.owner(room), at: result.revision, node.world.now))
            }
        }
    }

    private func lose(_ names: [String]) {
        let names = names.filter(rooms.contains)
        guard !names.isEmpty else { return }
        holdings.lose(names)
        for room in names { world.checkLoss(of: room, at: self) }
        end(names)
        world.roomsEnded(Set(names), at: self)
    }

    // MARK: Clients

    /// Finds or places a room for a client that came here.
    func place(_ room: String, _ done: @escaping (StoreCopy.Owner?) -> Void) {
        let isSure = membership.standing(at: world.now) == .sure
        if let found = copy.owner(of: room), isWatching || !isSure { return done(found.owner) }
        guard isSure else { return done(nil) }
        step(Placement(room, .best), done)
    }

    private func step(_ placement: Placement, _ done: @escaping (StoreCopy.Owner?) -> Void) {
        var placement = placement
        let isSure = membership.standing(at: world.now) == .sure
        switch placement.next(&copy, isSure: isSure, at: world.now, &world.random) {
        case .done(let owner, _): done(owner)
        case .failed: done(nil)
        case .ask(let other):
            world.ask(self, other.id) { node, answer in
                placement.answered(answer, node.copy, at: node.world.now)
                node.step(placement, done)
            }
        case .commit(let transaction):
            world.call(self, { $0.commit(transaction) }) { node, result in
                switch result {
                case .success(let result):
                    node.handle(placement.committed(result, transaction, &node.copy, at: node.world.now))
                case .failure(let error): placement.failed(error, &node.copy)
                }
                node.step(placement, done)
            }
        }
    }

    /// The owner's process refuses connections.
    func ownerIsGone(_ owner: StoreCopy.Owner, of room: String) {
        guard owner.node != id, let record = copy.nodes[owner.node]?.record else { return }
        copy.suspect(record)
        release(room, owner.revision, false)
    }

    /// A client comes to a room that is said to be here.
    func accept(_ room: String, _ done: @escaping (Bool) -> Void) {
        guard membership.standing(at: world.now) == .sure else { return done(rooms.contains(room)) }
        if isWatching, let owner = copy.owner(of: room), owner.owner.node == id { return done(open(room)) }
        let key = StoreKey.owner(room)
        world.call(self, { $0.commit(Transaction(operations: [.read(key)])) }) { node, result in
            guard let result = try? result.get(), let entry = result.entry(key) else { return done(false) }
            node.handle(node.copy.learn(entry, at: node.world.now))
            guard case .owner(let owner)? = entry.value, owner.incarnation == node.record.incarnation else {
                return done(false)
            }
            done(node.open(room))
        }
    }

    private func open(_ room: String) -> Bool {
        holdings.take(room)
        if rooms.insert(room).inserted { world.hosts[room, default: 0] += 1 }
        return true
    }
}
