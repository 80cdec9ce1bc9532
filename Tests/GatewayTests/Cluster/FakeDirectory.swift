import Basics
import Cluster

@testable import Admission
@testable import ClusterGateway
@testable import Gateway
@testable import Settings
@testable import WebServer

/// The store of a fake cluster.
final class FakeStore: Sendable {
    struct State {
        var nodes: [String: NodeRecord] = [:]
        var owners: [String: (node: String, epoch: Int64)] = [:]
        var states: [String: [UInt8]] = [:]
        var revision: Int64 = 0
        var isDown = false
        /// Where the next new room goes; nil: to the node that asks.
        var next: String?
        /// `ownerIsGone` was called for these rooms, and `place` for those.
        var gone: [String] = []
        /// Nodes that others reach, and that write to the store.
        var living: Set<String> = []
        var placed: [String] = []
        var draining: Set<String> = []
        var layouts: [String: [UInt8]] = [:]
    }

    let state = Guarded(State())

    func own(_ room: String, by node: String) {
        state.withLock { state in
            state.revision += 1
            state.owners[room] = (node, state.revision)
        }
    }
    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    var gone: [String] { state.withLock { $0.gone } }
    var placed: [String] { state.withLock { $0.placed } }
}

/// One node's view of a fake cluster.
final class FakeDirectory: ClusterDirectory {
    let store: FakeStore
    let id: String
    /// What this node believes, where that is not what the store has.
    let believed = Guarded<[String: RoomOwner?]>([:])
    let standing = Guarded(ClusterView.MembershipState.sure)

    init(_ store: FakeStore, _ id: String) {
        self.store = store
        self.id = id
        store.change { $0.nodes[id] = NodeRecord(id: id, incarnation: id + "1", url: "http://127.0.0.1:1") }
    }

    func listens(at url: String) { store.change { $0.nodes[id]?.url = url } }

    var here: NodeRecord {
        store.state.withLock { $0.nodes[id] } ?? NodeRecord(id: id, incarnation: id + "1", url: "")
    }
    var view: ClusterView {
        let nodes = store.state.withLock { $0.nodes.values.sorted { $0.id < $1.id } }
        return ClusterView(standing: standing.withLock { $0 }, nodes: nodes.map { ClusterView.Node(record: $0) })
    }

    private func known(_ room: String) -> RoomOwner? {
        store.state.withLock { state in
            guard let owner = state.owners[room], let node = state.nodes[owner.node] else { return nil }
            return RoomOwner(node: node, epoch: owner.epoch, isHere: owner.node == id)
        }
    }

    func owner(of room: String) async throws(ClusterError) -> RoomOwner? {
        if let belief = believed.withLock({ $0[room] }) { return belief }
        return known(room)
    }

    func place(_ room: String, _ wish: PlacementWish) async throws(ClusterError) -> RoomOwner {
        if let owner = known(room) { return owner }
        if store.state.withLock({ $0.isDown }) { throw .unavailable }
        store.change { $0.placed.append(room) }
        let next = store.state.withLock { $0.next }
        store.own(room, by: wish == .here ? id : next ?? id)
        guard let owner = known(room) else { throw .full }
        return owner
    }

    func place(_ room: String, insteadOf owner: RoomOwner, full: Set<String>) async throws(ClusterError) -> RoomOwner {
        guard let next = store.state.withLock({ $0.nodes.keys.sorted().first { !full.contains($0) } }) else {
            throw .full
        }
        store.change { $0.placed.append("\(room) again") }
        store.own(room, by: next)
        guard let owner = known(room) else { throw .full }
        return owner
    }

    func lookUp(_ room: String) async throws(ClusterError) -> RoomOwner? {
        if store.state.withLock({ $0.isDown }) { throw .unavailable }
        believed.withLock { $0[room] = nil }
        return known(room)
    }

    func ownerIsGone(_ owner: RoomOwner, of room: String) async -> Bool {
        if store.state.withLock({ $0.living.contains(owner.node.id) }) { return false }
        store.change { state in
            state.gone.append(room)
            if state.owners[room]?.epoch == owner.epoch { state.owners[room] = nil }
        }
        return true
    }

    func release(_ room: String, leaving left: (state: [UInt8], life: Duration)?) async {
        store.change { $0.owners[room] = nil }
    }
    func move(_ room: String) async throws(ClusterError) -> RoomOwner { throw .full }
    func store(_ state: [UInt8], of room: String) async { store.change { $0.states[room] = state } }
    func stored(_ room: String) async throws(ClusterError) -> [UInt8]? { store.state.withLock { $0.states[room] } }
    func putLayout(_ name: String, _ json: [UInt8]) async throws(ClusterError) -> Bool {
        if store.state.withLock({ $0.isDown }) { throw .unavailable }
        return store.state.withLock { state in
            guard state.layouts.count < 2 else { return false }
            state.layouts[name] = json
            return true
        }
    }
    func deleteLayout(_ name: String) async throws(ClusterError) -> Bool {
        if store.state.withLock({ $0.isDown }) { throw .unavailable }
        return store.state.withLock { $0.layouts.removeValue(forKey: name) != nil }
    }
    func setDraining(_ isDraining: Bool) async {
        store.change { state in
            if isDraining { state.draining.insert(id) } else { state.draining.remove(id) }
        }
    }
}

final class FakeKeeper: LocalRooms {
    let prepared = Guarded<[String]>([])
    let lost = Guarded<[String]>([])
    let held = Guarded<[String]>([])
    let isFull = Guarded(false)
    /// The layouts of its rooms.
    let layouts = Guarded<Set<String>>([])

    var rooms: [String] { held.withLock { $0 } }
    func prepare(_ room: String) async throws(ClusterError) {
        if isFull.withLock({ $0 }) { throw .full }
        prepared.withLock { $0.append(room) }
    }
    func usesLayout(_ name: String) -> Bool { layouts.withLock { $0.contains(name) } }
    func lose(_ rooms: [String]) { lost.withLock { $0 += rooms } }
}
