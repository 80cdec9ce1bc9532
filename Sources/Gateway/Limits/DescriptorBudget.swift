import Basics
import Conference
import Foundation

/// How many connections fit into the file descriptors that the system gives to this process.
struct DescriptorBudget: Equatable, Sendable {
    var connections: Int
    var connectionsPerAddress: Int
    var mediaConnections: Int
    /// Recordings that are downloaded at the same time; each holds its file open.
    var downloads: Int
    /// Whether the system gives less than the settings ask for.
    var isShort: Bool

    /// The process's own: event loops, media sockets, logs, the files of twenty recordings that run.
    static let reserve = 64
    /// Connections that were accepted and are still being refused, or closed.
    static let margin = 16

    init(descriptors: Int, _ limits: TesseraConfiguration.Limits) {
        downloads = min(256, max(8, descriptors / 16))
        mediaConnections = limits.conference.mediaConnections
        connections = limits.connections
        let free = max(32, descriptors - DescriptorBudget.reserve - DescriptorBudget.margin - downloads)
        isShort = connections + mediaConnections > free
        if isShort {
            // Both shrink alike.
            let share = Double(free) / Double(connections + mediaConnections)
            connections = max(16, Int(Double(connections) * share))
            mediaConnections = max(8, Int(Double(mediaConnections) * share))
        }
        // However few there are, one address leaves some to the others.
        connectionsPerAddress = min(limits.connectionsPerAddress, max(1, isShort ? connections * 3 / 4 : connections))
    }

    /// How many descriptors this process wants when the settings hold: then nothing has to shrink.
    static func wanted(_ limits: TesseraConfiguration.Limits) -> Int {
        limits.connections + limits.conference.mediaConnections + reserve + margin + 256 + 1024
    }

    /// Raises the soft limit of open files as far as the system lets it, and no further than `wanted`. Returns what
    /// holds now.
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
