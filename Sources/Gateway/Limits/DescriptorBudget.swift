import Basics
import Conference
import Foundation

/// The numbers of connections that fit into the process's file descriptors.
struct DescriptorBudget: Equatable, Sendable {
    var connections: Int
    var connectionsPerAddress: Int
    var mediaConnections: Int
    /// Simultaneous downloads of recordings and pictures; each holds a file open.
    var downloads: Int
    /// Whether the system allows less than the settings need.
    var isShort: Bool

    /// Descriptors of the process itself: event loops, media sockets, logs, the files of twenty running recordings.
    static let reserve = 64
    /// Accepted connections that are still being refused or closed.
    static let margin = 16

    init(descriptors: Int, _ limits: TesseraConfiguration.Limits) {
        downloads = min(256, max(8, descriptors / 16))
        mediaConnections = limits.conference.mediaConnections
        connections = limits.connections
        let free = max(32, descriptors - DescriptorBudget.reserve - DescriptorBudget.margin - downloads)
        isShort = connections + mediaConnections > free
        if isShort {
            // Both shrink in proportion.
            let share = Double(free) / Double(connections + mediaConnections)
            connections = max(16, Int(Double(connections) * share))
            mediaConnections = max(8, Int(Double(mediaConnections) * share))
        }
        // Where descriptors are short, one address cannot take them all.
        connectionsPerAddress = min(limits.connectionsPerAddress, max(1, isShort ? connections * 3 / 4 : connections))
    }

    /// The descriptors that the settings need without any reduction.
    static func wanted(_ limits: TesseraConfiguration.Limits) -> Int {
        limits.connections + limits.conference.mediaConnections + reserve + margin + 256 + 1024
    }

    /// Raises the soft limit of open files as far as the system allows, at most to `wanted`. Returns the new limit.
    static func raiseLimit(to wanted: Int) -> Int {
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
