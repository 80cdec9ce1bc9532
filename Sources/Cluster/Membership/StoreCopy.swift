import Basics

/// What a node knows of the store: a copy of the nodes, their loads and the rooms' owners, kept by the watch.
struct StoreCopy: Sendable {
    struct Node: Hashable, Sendable {
        var record: NodeRecord
        var lease: Int64
        /// Of the last write of its record.
        var revision: Int64
        var load: NodeLoad?
        /// Rooms that it owns.
        var rooms = 0
        /// The revisions of its rooms that its load does not count for certain: those placed since the report before the
        /// last one.
        fileprivate(set) var recent: [Int64] = []
        /// Rooms that this node is about to place there.
        fileprivate(set) var intended = 0
        fileprivate var loadRevision: Int64 = 0
        /// Its internal port refuses connections: no room is placed there until it writes again.
        fileprivate(set) var isSuspect = false
        /// When its last write came.
        fileprivate var heardAt = BootInstant.distantPast

        init(record: NodeRecord, lease: Int64, revision: Int64) {
            (self.record, self.lease, self.revision) = (record, lease, revision)
        }
    }

    struct Owner: Hashable, Sendable {
        var node: String
        var incarnation: String
        /// The room's epoch.
        var revision: Int64
        var lease: Int64
    }

    /// The last owner of a room whose key has gone.
    struct PreviousOwner: Hashable, Sendable {
        var record: NodeRecord
        var epoch: Int64
        var since: BootInstant
    }

    /// What a change means beyond the copy.
    enum Notice: Hashable, Sendable {
        /// The record of a node is gone, or another process has its id.
        case nodeGone(NodeRecord)
        /// This node's own record is there, written by this incarnation or another one.
        case ownKey(incarnation: String, revision: Int64)
        case ownKeyGone(revision: Int64)
    }

    /// How long the former owner of a room counts.
    static let remembered = Duration.seconds(60)
    static let mostFormer = 20_000

    let id: String
    private(set) var nodes: [String: Node] = [:]
    private(set) var owners: [String: Owner] = [:]
    /// All changes up to this one are in the copy.
    private(set) var revision: Int64 = 0
    /// The highest revision of anything that is known: what the store answers from now on is not of an earlier one, unless
    /// it has lost data.
    private(set) var highest: Int64 = 0
    /// The highest `revision` ever, also of histories that the store has lost since.
    private(set) var seen: Int64 = 0
    /// How often the store has lost data.
    private(set) var losses = 0
    private var former: [String: PreviousOwner] = [:]
    /// Records of nodes that are gone, by their ids.
    private var departed: [String: (record: NodeRecord, since: BootInstant)] = [:]
    /// Keys that this node has deleted itself, so that an older report of the watch does not bring them back.
    private var deleted: [StoreKey: Int64] = [:]

    /// - Parameter id: this node's.
    init(id: String) { self.id = id }

    /// The owner of a room with its record; nil where the room has none, or a process that has ended.
    func owner(of room: String) -> (owner: Owner, record: NodeRecord)? {
        guard let owner = owners[room], let node = nodes[owner.node], node.record.incarnation == owner.incarnation
        else {
            return nil
        }
        return (owner, node.record)
    }

    /// The last owner of a room that may be alive although its record has gone.
    func former(of room: String, at now: BootInstant) -> PreviousOwner? {
        guard let former = former[room], now - former.since <= Self.remembered,
            nodes[former.record.id]?.record.incarnation != former.record.incarnation
        else { return nil }
        return former
    }

    /// Takes that a process seems to have ended although its lease runs.
    mutating func suspect(_ record: NodeRecord) {
        guard nodes[record.id]?.record.incarnation == record.incarnation else { return }
        nodes[record.id]?.isSuspect = true
    }

    /// How long a process has written nothing; nil: it is not registered.
    func silence(of record: NodeRecord, at now: BootInstant) -> Duration? {
        nodes[record.id].flatMap { $0.record.incarnation == record.incarnation ? now - $0.heardAt : nil }
    }

    /// Counts a room for a node while its transaction runs, so that many placements at once do not choose alike.
    mutating func intend(_ id: String) { nodes[id]?.intended += 1 }
    mutating func settle(_ id: String) { if let node = nodes[id], node.intended > 0 { nodes[id]?.intended -= 1 } }

    // MARK: Changes

    mutating func apply(_ changes: StoreChanges, at now: BootInstant) -> [Notice] {
        var notices: [Notice] = []
        for change in changes.changes {
            switch change {
            case .put(let entry): put(entry, at: now, &notices)
            case .delete(let key, let revision): delete(key, revision, at: now, &notices)
            }
        }
        advance(to: changes.revision)
        if !deleted.isEmpty { deleted = deleted.filter { $0.value > revision } }
        return notices
    }

    /// Takes what a transaction of this node wrote or read, before the watch tells.
    mutating func learn(_ entry: StoreEntry, at now: BootInstant) -> [Notice] {
        var notices: [Notice] = []
        put(entry, at: now, &notices)
        return notices
    }

    /// Takes that a key is not there at a revision.
    mutating func forget(_ key: StoreKey, at revision: Int64, _ now: BootInstant) -> [Notice] {
        var notices: [Notice] = []
        delete(key, revision, at: now, &notices)
        deleted[key] = revision
        return notices
    }

    /// Replaces the copy by a listing. What the copy knows from later revisions stays, unless the store has lost data
    /// since: then the listing is all that counts.
    ///
    /// - Parameter asked: `highest` when the listing was asked for.
    mutating func replace(_ listing: StoreListing, asked: Int64 = 0, at now: BootInstant) -> [Notice] {
        var notices: [Notice] = []
        let before = nodes
        let isOther = listing.revision < asked || listing.entries.contains { contradicts($0, at: listing.revision) }
        if isOther { beginAnew(at: now) }
        var seen: Set<StoreKey> = []
        // Nodes first, so that their rooms are counted and their loads have a place.
        for entry in listing.entries.sorted(by: { Self.rank($0.key) < Self.rank($1.key) }) {
            seen.insert(entry.key)
            put(entry, at: now, &notices)
        }
        for room in Array(owners.keys) where !seen.contains(.owner(room)) {
            delete(.owner(room), listing.revision, at: now, &notices)
        }
        for id in Array(nodes.keys) where !seen.contains(.node(id)) {
            delete(.node(id), listing.revision, at: now, &notices)
        }
        if !seen.contains(.node(id)), !notices.contains(where: { if case .ownKeyGone = $0 { true } else { false } }) {
            notices.append(.ownKeyGone(revision: listing.revision))
        }
        if isOther {
            for (id, node) in before where id != self.id && nodes[id]?.record.incarnation != node.record.incarnation {
                notices.append(.nodeGone(node.record))
            }
        }
        advance(to: listing.revision)
        departed = departed.filter { now - $0.value.since <= Self.remembered }
        former = former.filter { now - $0.value.since <= Self.remembered }
        return notices
    }

    /// Whether an entry of a listing cannot follow from what is known: it is older, or another one of the same revision.
    private func contradicts(_ entry: StoreEntry, at revision: Int64) -> Bool {
        switch (entry.key, entry.value) {
        case (.node(let id), .node(let record)):
            guard let known = nodes[id], known.revision <= revision else { return false }
            return entry.revision < known.revision
                || entry.revision == known.revision && (known.lease != entry.lease || known.record != record)
        case (.owner(let room), .owner(let record)):
            guard let known = owners[room], known.revision <= revision else { return false }
            return entry.revision < known.revision
                || entry.revision == known.revision && (known.lease != entry.lease || known.node != record.node)
        default: return false
        }
    }

    /// Forgets the keys of a store that has lost its data, or has got those of an earlier time back. The nodes may live
    /// all the same, with their rooms: who takes one of these asks its former owner first.
    private mutating func beginAnew(at now: BootInstant) {
        losses += 1
        for (room, owner) in owners {
            if let record = nodes[owner.node]?.record { remember(room, owner, record, at: now) }
        }
        for (id, node) in nodes { departed[id] = (node.record, now) }
        (nodes, owners, deleted) = ([:], [:], [:])
        (revision, highest) = (0, 0)
    }

    private mutating func remember(_ room: String, _ owner: Owner, _ record: NodeRecord, at now: BootInstant) {
        guard record.incarnation == owner.incarnation else { return }
        if former.count >= Self.mostFormer { former.removeAll() }
        former[room] = PreviousOwner(record: record, epoch: owner.revision, since: now)
    }

    private mutating func advance(to other: Int64) {
        revision = max(revision, other)
        (highest, seen) = (max(highest, revision), max(seen, revision))
    }

    private static func rank(_ key: StoreKey) -> Int {
        switch key {
        case .node: 0
        case .owner: 1
        default: 2
        }
    }

    private mutating func put(_ entry: StoreEntry, at now: BootInstant, _ notices: inout [Notice]) {
        highest = max(highest, entry.revision)
        if let gone = deleted[entry.key], entry.revision <= gone { return }
        switch (entry.key, entry.value) {
        case (.node(let id), .node(let record)):
            if id == self.id { notices.append(.ownKey(incarnation: record.incarnation, revision: entry.revision)) }
            guard var node = nodes[id] else {
                nodes[id] = Node(record: record, lease: entry.lease, revision: entry.revision)
                nodes[id]?.heardAt = now
                countRooms(of: id)
                return
            }
            guard entry.revision > node.revision else { return }
            let old = node.record
            (node.record, node.lease, node.revision, node.isSuspect) = (record, entry.lease, entry.revision, false)
            node.heardAt = now
            nodes[id] = node
            if old.incarnation != record.incarnation {
                countRooms(of: id)
                if id != self.id { notices.append(.nodeGone(old)) }
            }
        case (.load(let id), .load(let load)):
            guard var node = nodes.removeValue(forKey: id) else { return }
            if entry.revision > node.loadRevision {
                let since = node.loadRevision
                node.recent.removeAll { $0 <= since }
                (node.load, node.loadRevision, node.isSuspect) = (load, entry.revision, false)
                node.heardAt = now
            }
            nodes[id] = node
        case (.owner(let room), .owner(let record)):
            let old = owners[room]
            guard entry.revision > old?.revision ?? 0 else { return }
            if let old { uncount(old) }
            let owner = Owner(
                node: record.node, incarnation: record.incarnation, revision: entry.revision, lease: entry.lease)
            owners[room] = owner
            former[room] = nil
            if nodes[owner.node]?.record.incarnation == owner.incarnation {
                nodes[owner.node]?.rooms += 1
                if old?.node != owner.node { nodes[owner.node]?.recent.append(owner.revision) }
            }
        default: break
        }
    }

    private mutating func delete(_ key: StoreKey, _ revision: Int64, at now: BootInstant, _ notices: inout [Notice]) {
        highest = max(highest, revision)
        switch key {
        case .node(let id):
            guard let node = nodes[id], node.revision <= revision else { return }
            nodes[id] = nil
            departed[id] = (node.record, now)
            notices.append(id == self.id ? .ownKeyGone(revision: revision) : .nodeGone(node.record))
        case .owner(let room):
            guard let owner = owners[room], owner.revision <= revision else { return }
            owners[room] = nil
            uncount(owner)
            if let record = nodes[owner.node]?.record ?? departed[owner.node]?.record {
                remember(room, owner, record, at: now)
            }
        case .load, .room, .layout: break
        }
    }

    private mutating func uncount(_ owner: Owner) {
        guard nodes[owner.node]?.record.incarnation == owner.incarnation else { return }
        nodes[owner.node]?.rooms -= 1
        nodes[owner.node]?.recent.removeAll { $0 == owner.revision }
    }

    private mutating func countRooms(of id: String) {
        guard let incarnation = nodes[id]?.record.incarnation else { return }
        nodes[id]?.rooms = owners.values.count { $0.node == id && $0.incarnation == incarnation }
        nodes[id]?.recent = []
    }
}
