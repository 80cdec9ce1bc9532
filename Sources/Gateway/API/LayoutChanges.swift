import Basics
import Cluster
import Conference

/// Adds and removes layouts at run time: on this server, or in the store of its cluster, from where every node takes
/// them.
struct LayoutChanges: Sendable {
    let conference: any ConferenceService
    /// nil: there is no cluster.
    let directory: (any ClusterDirectory)?
    /// Throws where another node uses a layout, or does not say so.
    let checkOthers: @Sendable (_ name: String, RouteRequest) async throws -> Void

    func put(_ name: String, _ json: [UInt8]) async throws {
        guard let directory else { return try conference.putLayout(name, json: json) }
        try conference.checkLayout(name, json: json)
        let isStored = try await stored { () async throws(ClusterError) in try await directory.putLayout(name, json) }
        if !isStored { throw APIError(.conflict, "the cluster has as many layouts as it keeps: remove one first") }
    }

    func delete(_ name: String, _ asked: RouteRequest) async throws {
        guard let directory else { return try conference.deleteLayout(name) }
        try conference.checkUnusedLayout(name)
        try await checkOthers(name, asked)
        if try await stored({ () async throws(ClusterError) in try await directory.deleteLayout(name) }) { return }
        guard conference.layouts().contains(where: { $0.name == name }) else {
            throw ConferenceError.unknownLayout(name)
        }
        throw APIError(
            .layoutInUse,
            "“\(name)” is a shipped layout, or a file of this node: remove the file from each node's layouts.directory")
    }

    private func stored<Value>(_ body: () async throws(ClusterError) -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw APIError(Self.unchanged("the cluster's store does not answer"))
        }
    }

    /// Why a cluster did not change a layout now.
    static func unchanged(_ why: String) -> Refusal {
        Refusal(.overloaded, "\(why), so the layout is not changed: try again", retryAfter: .seconds(2))
    }
}
