public import Basics

/// How this node takes part in a cluster.
public struct ClusterSettings: Hashable, Sendable {
    /// The client URLs of the members of etcd, such as `http://10.0.0.1:2379`; empty: there is no cluster.
    public var etcd: [String] = []
    /// The user of etcd; empty: no authentication.
    public var user = ""
    public var password = ""
    public var tls = TLS()
    /// This node's id; empty: the machine's name.
    public var node = ""
    /// Nodes of one zone are preferred for rooms of their clients.
    public var zone = ""
    /// The internal listener.
    public var listen = Endpoint(host: "0.0.0.0", port: 8081)
    /// Where the other nodes reach it, as HOST:PORT; nil: the machine's first address and the port of `listen`.
    public var advertise: Endpoint?
    /// What nodes prove themselves by to each other, and what signs resume tickets: the same on every node.
    public var secret = ""
    /// The time after which a silent node's rooms are free.
    public var ttl: Duration = .seconds(6)
    public var drain = Drain()

    public init() {}

    public var isOn: Bool { !etcd.isEmpty }

    /// PEM files; empty is none.
    public struct TLS: Hashable, Sendable {
        /// Who signed the certificates of etcd and of the nodes; empty: the system's authorities.
        public var authority = ""
        /// The node's own, for the internal listener and towards etcd and nodes; empty: the internal listener speaks
        /// plain HTTP.
        public var certificate = ""
        public var key = ""
        public init() {}
    }

    public struct Drain: Hashable, Sendable {
        public enum Mode: String, Hashable, Sendable, CaseIterable {
            /// Rooms go to other nodes at once, with their people.
            case move
            /// The node waits until its rooms have ended.
            case wait
        }
        public var mode = Mode.move
        /// The limit, after which what is left ends.
        public var within: Duration = .seconds(10)
        public init() {}
    }
}
