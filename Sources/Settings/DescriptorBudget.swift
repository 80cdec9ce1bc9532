import Basics
import Conference
import FoundationEssentials
import Glibc

/// The numbers of connections that fit into the process's file descriptors.
package struct DescriptorBudget: Equatable, Sendable {
    package var connections: Int
    package var connectionsPerAddress: Int
    /// Connections of other nodes to the internal listener; 0 without a cluster.
    package var nodeConnections: Int
    package var mediaConnections: Int
    /// Simultaneous downloads of recordings and pictures; each holds a file open.
    package var downloads: Int
    /// Whether the system allows less than the settings need.
    package var isShort: Bool

    /// Descriptors of the process itself: event loops, media sockets, logs, the files of twenty running recordings.
    package static let reserve = 64
    /// Accepted connections that are still being refused or closed.
    package static let margin = 16
    /// Of a node of a cluster: its connections to the store, questions to other nodes, and the margin of the internal
    /// listener.
    static let nodeReserve = 32 + margin

    /// - Parameter isNode: whether the server is a node of a cluster.
    package init(descriptors: Int, _ limits: TesseraConfiguration.Limits, isNode: Bool = false) {
        downloads = min(256, max(8, descriptors / 16))
        mediaConnections = limits.conference.mediaConnections
        connections = limits.connections
        let each = Self.perConnection(isNode: isNode)
        let reserve = DescriptorBudget.reserve + (isNode ? DescriptorBudget.nodeReserve : 0)
        let free = max(32, descriptors - reserve - DescriptorBudget.margin - downloads)
        let wanted = connections * each + mediaConnections
        isShort = wanted > free
        if isShort {
            // All shrink in proportion.
            let share = Double(free) / Double(wanted)
            connections = max(16, Int(Double(connections) * share))
            mediaConnections = max(8, Int(Double(mediaConnections) * share))
        }
        nodeConnections = isNode ? connections : 0
        // Where descriptors are short, one address cannot take them all.
        connectionsPerAddress = min(limits.connectionsPerAddress, max(1, isShort ? connections * 3 / 4 : connections))
    }

    /// The descriptors for each of `connections`. In a cluster a client takes one, its pipe or request to its room's
    /// owner another, and the same number of clients of other nodes come in at the internal listener.
    private static func perConnection(isNode: Bool) -> Int { isNode ? 3 : 1 }

    /// The descriptors that the settings need without any reduction.
    package static func wanted(_ limits: TesseraConfiguration.Limits, isNode: Bool = false) -> Int {
        limits.connections * perConnection(isNode: isNode) + limits.conference.mediaConnections + reserve + margin + 256
            + 1024 + (isNode ? nodeReserve : 0)
    }

    /// Raises the soft limit of open files as far as the system allows, at most to `wanted`. Returns the new limit.
    package static func raiseLimit(to wanted: Int) -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        if limit.rlim_cur < rlim_t(wanted) {
            var raised = limit
            raised.rlim_cur = min(limit.rlim_max, rlim_t(wanted))
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
