import Admission
import Basics
package import Cluster
import Hummingbird
package import WebServer

/// The route of the cluster's nodes.
extension RouteTable {
    /// - Parameter outlook: asks every node what it believes (`ClusterNode.outlook`); nil: there is no cluster.
    package mutating func addCluster(_ outlook: (@Sendable () async -> ClusterReport)?) {
        add(
            Route(
                .get, "/api/cluster", .admin,
                RouteDescription(
                    tag: "server", summary: "The nodes of the cluster, and what each believes; takes a second at most",
                    answers: [.json("The nodes as the answering one sees them.", ClusterReport.schema)],
                    failures: [404])
            ) { _ in
                guard let outlook else {
                    throw APIError.notFound("this server is no node of a cluster; cluster.etcd makes it one")
                }
                return .json(await outlook().json)
            })
    }
}

extension ClusterReport {
    fileprivate static var schema: JSONValue {
        let node = Schema.object(
            [
                "id": Schema.string, "incarnation": Schema.string, "url": Schema.string, "zone": Schema.string,
                "version": Schema.string, "draining": Schema.boolean,
                "used": Schema.number.with("description", "Of the encoder threads or the busiest loop, 0 to 1."),
                "full": Schema.boolean,
                "rooms": Schema.integer.with("description", "Rooms that it owns by the store."),
                "seats": Schema.integer,
                "answers": Schema.boolean.with("description", "Whether it answers; without that the rest is missing."),
                "fault": Schema.string.with(
                    "description", "Why it does not take the answering node's token: its secret, TLS or clock."),
                "state": Schema.choice(ClusterView.MembershipState.allCases.map(\.rawValue)),
                "storeFault": Schema.string.with(
                    "description", "Why etcd takes no writes of it, such as a quota that is reached."),
                "leaseMargin": Schema.number.with("description", "Seconds that are left of its lease."),
                "following": Schema.boolean.with("description", "Whether its copy of the store's keys is up to date."),
                "sees": Schema.list(of: Schema.string).with("description", "The ids of the nodes that it sees."),
            ],
            required: [
                "id", "incarnation", "url", "zone", "version", "draining", "used", "full", "rooms", "seats", "answers",
            ])
        return Schema.object(
            [
                "node": Schema.string.with("description", "The node that answers."),
                "agreed": Schema.boolean.with(
                    "description",
                    "Whether every node answers, is sure of its lease, writes to etcd and sees the same nodes."),
                "nodes": Schema.list(of: node),
            ], required: ["node", "agreed", "nodes"])
    }

    package var json: JSONValue {
        ["node": .string(here), "agreed": .bool(isAgreed), "nodes": .array(nodes.map(\.json))]
    }
}

extension ClusterReport.Node {
    fileprivate var json: JSONValue {
        let (record, load) = (node.record, node.load ?? NodeLoad())
        return .object(
            [
                "id": .string(record.id), "incarnation": .string(record.incarnation), "url": .string(record.url),
                "zone": .string(record.zone), "version": .string(record.version), "draining": .bool(record.isDraining),
                "used": .number(load.used), "full": .bool(load.isFull), "rooms": .integer(node.rooms),
                "seats": .integer(load.seats), "answers": .bool(answer != nil),
            ],
            where: [
                "fault": fault.map { .string($0) },
                "state": answer.map { .string($0.standing.rawValue) },
                "storeFault": answer?.storeFault.map { .string($0) },
                "leaseMargin": answer.map { .number($0.leaseMargin) },
                "following": answer.map { .bool($0.isFollowing) },
                "sees": answer.map { .array($0.nodes.keys.sorted().map { .string($0) }) },
            ])
    }
}
