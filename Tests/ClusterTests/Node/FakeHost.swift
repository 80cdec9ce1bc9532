import Basics
import Cluster

/// A server with rooms by name.
final class FakeHost: ClusterHost {
    struct State {
        var rooms: Set<String> = []
        var load = NodeLoad()
        var lost: [String] = []
        var gone: [String] = []
        var layouts: [String: [UInt8]] = [:]
    }

    let state = Guarded(State())

    var rooms: [String] { state.withLock { $0.rooms.sorted() } }
    var load: NodeLoad { state.withLock { $0.load } }
    func lose(_ rooms: [String]) {
        state.withLock { state in
            state.rooms.subtract(rooms)
            state.lost += rooms
        }
    }
    func nodeIsGone(_ node: NodeRecord) { state.withLock { $0.gone.append(node.id) } }
    func settleLayouts() async {}
    func useLayout(_ name: String, _ json: [UInt8]?) { state.withLock { $0.layouts[name] = json } }
    var layouts: [String: [UInt8]] { state.withLock { $0.layouts } }
    func open(_ room: String) { state.withLock { _ = $0.rooms.insert(room) } }
    func close(_ room: String) { state.withLock { _ = $0.rooms.remove(room) } }
}

/// The nodes of one process ask each other without a network.
final class FakePeers: NodeQueries {
    let nodes = Guarded<[String: ClusterNode]>([:])

    /// Paths that refuse connections, as `from to`.
    let refused = Guarded<Set<String>>([])
    /// Nodes whose tokens nobody takes.
    let strangers = Guarded<Set<String>>([])

    func ask(_ node: NodeRecord, within limit: Duration) async -> PeerAnswer {
        if strangers.withLock({ $0.contains(node.id) }) { return .rejected("cluster.secret differs") }
        return nodes.withLock { $0[node.id] }.map { .alive($0.alive) } ?? .refused
    }

    func witness(_ node: NodeRecord, of other: NodeRecord, within limit: Duration) async -> PeerReach? {
        if refused.withLock({ $0.contains("\(node.id) \(other.id)") }) { return .refused }
        return await nodes.withLock { $0[node.id] }?.reaches(other.id, other.incarnation)
    }
}
