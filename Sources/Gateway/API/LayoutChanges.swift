import Basics
import Cluster
import Conference

/// Adds and removes layouts at run time: on this server, or in the store of its cluster, from where every node takes
/// them.
struct LayoutChanges: Sendable {
    let conference: any ConferenceService
    /// nil: there is no cluster.
    let directory: (any ClusterDirectory)?

    func put(_ name: String, _ json: [UInt8]) async throws {
        guard let directory else { return try conference.putLayout(name, json: json) }
        try conference.checkLayout(name, json: json)
        let isStored = try await asked { () async throws(ClusterError) in try await directory.putLayout(name, json) }
        if !isStored { throw APIError(.conflict, "the cluster has as many layouts as it keeps: remove one first") }
    }

    func delete(_ name: String) async throws {
        guard let directory else { return try conference.deleteLayout(name) }
        try conference.checkUnusedLayout(name)
        if try await asked({ () async throws(ClusterError) in try await directory.deleteLayout(name) }) { return }
        guard conference.layouts().contains(where: { $0.name == name }) else {
            throw ConferenceError.unknownLayout(name)
        }
        throw APIError(
            .layoutInUse,
            "“\(name)” is a shipped layout, or a file of this node: remove the file from each node's layouts.directory")
    }

    private func asked<Value>(_ body: () async throws(ClusterError) -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw APIError(
                Refusal(
                    .overloaded, "the cluster's store does not answer, so the layout is not changed: try again",
                    retryAfter: .seconds(2)))
        }
    }
}
