package import Admission
import Basics
package import Cluster
import Conference
package import WebServer

/// Adds and removes layouts at run time: on this server, or in the store of its cluster, from where every node takes
/// them.
package struct LayoutChanges: Sendable {
    package let layouts: any ConferenceLayouts
    /// nil: there is no cluster.
    package let directory: (any ClusterDirectory)?
    /// Throws where another node uses a layout, or does not say so.
    package let checkOthers: @Sendable (_ name: String, RouteRequest) async throws -> Void

    package init(
        layouts: any ConferenceLayouts, directory: (any ClusterDirectory)?,
        checkOthers: @escaping @Sendable (_ name: String, RouteRequest) async throws -> Void
    ) {
        self.layouts = layouts
        self.directory = directory
        self.checkOthers = checkOthers
    }

    package func put(_ name: String, _ json: [UInt8]) async throws {
        guard let directory else { return try await layouts.put(name, json: json) }
        try await layouts.check(name, json: json)
        let isStored = try await stored { () async throws(ClusterError) in try await directory.putLayout(name, json) }
        if !isStored { throw APIError(.conflict, "the cluster has as many layouts as it keeps: remove one first") }
    }

    package func delete(_ name: String, _ asked: RouteRequest) async throws {
        guard let directory else { return try await layouts.delete(name) }
        try layouts.checkUnused(name)
        try await checkOthers(name, asked)
        if try await stored({ () async throws(ClusterError) in try await directory.deleteLayout(name) }) { return }
        guard layouts.all.contains(where: { $0.name == name }) else {
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
            throw APIError(Refusal.layoutUnchanged("the cluster's store does not answer"))
        }
    }
}
