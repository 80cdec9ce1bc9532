import Basics

/// Finds the owner of a room, or places it, in steps: each is performed by the caller, whose answer goes in.
struct Placement: Sendable {
    enum Step: Hashable, Sendable {
        /// Ask a node that looks dead whether it lives: `answered`.
        case ask(NodeRecord)
        /// `committed`, or `failed`.
        case commit(Transaction)
        case done(StoreCopy.Owner, NodeRecord)
        case failed(ClusterError)
    }

    /// What a room is taken to cost until its node has reported its load with it.
    static let cost = 0.05
    /// Transactions that others' changes may spoil.
    private static let tries = 6
    /// How long a former owner that lives has to register anew, or to be told by its peers that it is lost.
    private static let grace = Duration.seconds(2)

    let room: String
    let wish: PlacementWish
    /// Nodes that the room must not be on: the one that gives it away, or those that take none now.
    private let excluded: Set<String>
    /// The revision of the owner that is replaced.
    private let given: Int64?
    private var tries = 0
    private var hasAsked = false
    private var outcome: Step?
    private var target: NodeRecord?

    init(_ room: String, _ wish: PlacementWish) {
        (self.room, self.wish, excluded, given) = (room, wish, [], nil)
    }

    /// Moves a room to none of some nodes, of which one is its owner, with the epoch `epoch`.
    init(moving room: String, from ids: Set<String>, epoch: Int64) {
        (self.room, wish, excluded, given) = (room, .best, ids, epoch)
        hasAsked = true
    }

    /// - Parameter isSure: whether the node is sure of its lease, and its copy is up to date.
    mutating func next(
        _ copy: inout StoreCopy, isSure: Bool, at now: BootInstant, _ random: inout some RandomNumberGenerator
    ) -> Step {
        if let outcome { return outcome }
        if let given {
            if let owner = copy.owners[room], owner.revision > given, let found = copy.owner(of: room) {
                return .done(found.owner, found.record)
            }
        } else if let found = copy.owner(of: room) {
            return .done(found.owner, found.record)
        }
        guard isSure, tries < Self.tries else { return .failed(.unavailable) }
        // Its lease runs although its record has gone: it registers anew, or its lease ends.
        if given == nil, let owner = copy.owners[room], copy.nodes[owner.node] == nil { return .failed(.ownerLost) }
        if !hasAsked, let former = copy.former(of: room, at: now), former.record.id != copy.id {
            return .ask(former.record)
        }
        guard let node = Self.choose(copy, wish, excluding: excluded, reading: needs(copy, at: now), &random) else {
            return .failed(.full)
        }
        tries += 1
        target = node.record
        copy.intend(node.record.id)
        // An owner whose process has ended, and another has its id, is as good as none.
        return .commit(.place(room, on: node, replacing: given ?? copy.owners[room]?.revision ?? 0))
    }

    /// - Parameter answer: of the former owner; nil: it does not answer.
    mutating func answered(_ answer: AliveAnswer?, _ copy: StoreCopy, at now: BootInstant) {
        hasAsked = true
        guard let former = copy.former(of: room, at: now), let answer,
            answer.incarnation == former.record.incarnation
        else { return }
        switch answer.standing {
        case .sure:
            // Its key has vanished by mistake, or this copy is late: it keeps its rooms.
            let owner = StoreCopy.Owner(
                node: former.record.id, incarnation: former.record.incarnation, revision: former.epoch, lease: 0)
            outcome = .done(owner, former.record)
        case .unsure, .alone:
            if now - former.since < Self.grace { outcome = .failed(.ownerLost) }
        case .fenced, .joining: break
        }
    }

    /// What the copy learns of a result.
    mutating func committed(
        _ result: TransactionResult, _ transaction: Transaction, _ copy: inout StoreCopy, at now: BootInstant
    ) -> [StoreCopy.Notice] {
        if let target { copy.settle(target.id) }
        if result.isDone, let target, case .put(let key, let value, let lease)? = transaction.operations.first {
            let owner = StoreCopy.Owner(
                node: target.id, incarnation: target.incarnation, revision: result.revision, lease: lease)
            outcome = .done(owner, target)
            return copy.learn(StoreEntry(key: key, value: value, revision: result.revision, lease: lease), at: now)
        }
        var notices: [StoreCopy.Notice] = []
        for operation in transaction.otherwise {
            guard case .read(let key) = operation else { continue }
            if let entry = result.entry(key) {
                notices += copy.learn(entry, at: now)
                // A key that nobody can read, or of a node whose record is not known, is an owner all the same.
                if case .owner = key, entry.value == nil { outcome = .failed(.unavailable) }
            } else {
                notices += copy.forget(key, at: result.revision, now)
            }
        }
        if let given, copy.owners[room]?.revision != given, copy.owner(of: room) == nil {
            outcome = .failed(.unavailable)
        }
        return notices
    }

    mutating func failed(_ error: StoreError, _ copy: inout StoreCopy) {
        if let target { copy.settle(target.id) }
        // The lease of the chosen node has ended since: its record is about to go, and another try chooses anew.
        if case .leaseGone = error { return }
        outcome = .failed(.unavailable)
    }

    // MARK: The choice

    /// The lowest `NodeRecord.protocol` of a node that can go on with the room; 0 where nobody knows who had it.
    private func needs(_ copy: StoreCopy, at now: BootInstant) -> Int {
        let source = copy.owners[room].flatMap { copy.nodes[$0.node]?.record } ?? copy.former(of: room, at: now)?.record
        return source.map { $0.needs ?? $0.protocol } ?? 0
    }

    /// The better of two random nodes of this node's zone that have room left, or of all zones where there is none.
    ///
    /// - Parameter needs: the lowest protocol of a node that can read what is stored of the room.
    static func choose(
        _ copy: StoreCopy, _ wish: PlacementWish, excluding ids: Set<String> = [], reading needs: Int = 0,
        _ random: inout some RandomNumberGenerator
    ) -> StoreCopy.Node? {
        let here = copy.nodes[copy.id]
        if wish == .here { return here.flatMap { canTake($0) ? $0 : nil } }
        let able = copy.nodes.values.filter {
            canTake($0) && !ids.contains($0.record.id) && $0.record.protocol >= needs
        }
        let near = able.filter { $0.record.zone == here?.record.zone }
        // In order, so that a seed always gives the same choice.
        let candidates = (near.isEmpty ? able : near).sorted { $0.record.id < $1.record.id }
        guard candidates.count > 1 else { return candidates.first }
        let first = Int.random(in: 0..<candidates.count, using: &random)
        var second = Int.random(in: 0..<candidates.count - 1, using: &random)
        if second >= first { second += 1 }
        let (one, other) = (candidates[first], candidates[second])
        return (use(of: one), one.rooms) <= (use(of: other), other.rooms) ? one : other
    }

    private static func canTake(_ node: StoreCopy.Node) -> Bool {
        !node.record.isDraining && !node.isSuspect && node.load?.isFull != true
    }

    /// Its load, and what was placed there since: all loads are old.
    private static func use(of node: StoreCopy.Node) -> Double {
        (node.load?.used ?? 0) + cost * Double(node.recent.count + node.intended)
    }
}
