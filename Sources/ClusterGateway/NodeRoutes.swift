import Admission
import Basics
package import Cluster
import Hummingbird
import WebServer

/// The routes of one node of a cluster.
extension RouteTable {
    /// - Parameter drain: nil: there is no cluster.
    package mutating func addNode(_ drain: NodeDrain?, settings: ClusterSettings.Drain) {
        let path = "/api/node/drain"
        add(
            Route(
                .post, path, .admin,
                RouteDescription(
                    tag: "server",
                    summary: "Empties the node that answers: no new room comes, and its rooms go to other nodes",
                    body: ("application/json", Schema.ref("NodeDrain")),
                    answers: [.empty(202, "It is being emptied; GET /readyz is 503 from now on.")],
                    failures: [400, 404])
            ) { asked in
                let body = try await asked.object(keys: ["mode", "within"])
                try known(drain).begin(try settings.changed(by: body))
                return Response(status: .accepted)
            })
        add(
            Route(
                .delete, path, .admin,
                RouteDescription(
                    tag: "server", summary: "Takes a drain back: rooms may come to the node that answers",
                    answers: [.empty(204, "They may.")], failures: [404])
            ) { _ in
                let drain = try known(drain)
                await drain.end()
                return Response(status: .noContent)
            })
    }
}

extension ClusterSettings.Drain {
    fileprivate func changed(by body: ObjectBody) throws -> Self {
        var wish = self
        if let mode = try body.choice("mode", Mode.self) { wish.mode = mode }
        if let seconds = try body.number("within") {
            guard (1...86_400).contains(seconds) else { throw APIError.badRequest("within: seconds, from 1 to 86400") }
            wish.within = .milliseconds(Int(seconds * 1000))
        }
        return wish
    }
}

/// - Throws: `APIError`, untyped: in an optimized build 6.3's compiler ends with signal 11 at routes that mix both kinds.
private func known(_ drain: NodeDrain?) throws -> NodeDrain {
    guard let drain else { throw APIError.notFound("this server is no node of a cluster (cluster.etcd)") }
    return drain
}
