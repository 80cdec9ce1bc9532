package import Basics

/// How this node takes part in a cluster.
package struct ClusterSettings: Hashable, Sendable {
    /// The client URLs of the members of etcd, such as `http://10.0.0.1:2379`; empty: there is no cluster.
    package var etcd: [String] = []
    /// The user of etcd; empty: no authentication.
    package var user = ""
    package var password = ""
    package var tls = TLS()
    /// This node's id; empty: the machine's name.
    package var node = ""
    /// Nodes of one zone are preferred for rooms of their clients.
    package var zone = ""
    /// The internal listener.
    package var listen = Endpoint(host: "0.0.0.0", port: 8081)
    /// Where the other nodes reach it, as HOST:PORT; nil: the machine's first address and the port of `listen`.
    package var advertise: Endpoint?
    /// What nodes prove themselves by to each other, and what signs resume tickets: the same on every node.
    package var secret = ""
    /// The time after which a silent node's rooms are free.
    package var ttl: Duration = .seconds(6)
    package var drain = Drain()

    package init() {}

    package var isOn: Bool { !etcd.isEmpty }

    /// PEM files; empty is none.
    package struct TLS: Hashable, Sendable {
        /// Who signed the certificates of etcd and of the nodes; empty: the system's authorities.
        package var authority = ""
        /// The node's own, for the internal listener and towards etcd and nodes; empty: the internal listener speaks
        /// plain HTTP.
        package var certificate = ""
        package var key = ""
        package init() {}
    }

    package struct Drain: Hashable, Sendable {
        package enum Mode: String, Hashable, Sendable, CaseIterable {
            /// Rooms go to other nodes at once, with their people.
            case move
            /// The node waits until its rooms have ended.
            case wait
        }
        package var mode = Mode.move
        /// The limit, after which what is left ends.
        package var within: Duration = .seconds(10)
        package init() {}
    }
}
