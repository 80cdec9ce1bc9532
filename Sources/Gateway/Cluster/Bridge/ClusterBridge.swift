import Basics
import Cluster
import Conference
import Logging

/// Connects the conference of this node with the cluster: stores the rooms' states, restores them where a room comes to
/// this node, and moves rooms to other nodes.
final class ClusterBridge: ClusterHost {
    /// - Parameter nodeIsGone: what the endpoints do when a node is gone: the end of the pipes that lead there.
    init(
        _ conference: Conference, logger: Logger, nodeIsGone: @escaping @Sendable (NodeRecord) -> Void = { _ in }
    ) {}

    /// Follows the conference's rooms and stores their states. Called once, before a client can join.
    func start(_ directory: any ClusterDirectory) {}

    /// Stores what waits, and follows the conference no longer. The cluster's node goes on until then.
    func stop() async {}

    // MARK: - For the cluster

    var rooms: [String] { [] }
    var load: NodeLoad { NodeLoad() }
    func lose(_ rooms: [String]) {}
    func nodeIsGone(_ node: NodeRecord) {}

    // MARK: - For the endpoints

    /// Awaited before a join or a request that may create reaches a room that is placed here: a room that is not here
    /// yet gets its stored state. Returns at once for a room that is here.
    ///
    /// - Throws: `unavailable` where the state cannot be read now: a room must not begin without its PIN and its lock.
    func prepare(_ room: String) async throws(ClusterError) {}

    /// Empties this node: `move` gives each room to another node, `wait` waits until the rooms have ended. Returns when
    /// no room is left, or after `within`; what is left then stays as it is. Takes back nothing: `setDraining(false)`
    /// does.
    func drain(_ drain: ClusterSettings.Drain) async {}
}

/// The seats' secrets of a cluster, which are tickets at the same time (`ConferenceConfiguration.seatSecrets`).
///
/// Usage: `settings.seatSecrets = ClusterTickets(secret: configuration.cluster.secret)` before the conference is made.
struct ClusterTickets: Sendable {
    init(secret: String) {}
}
