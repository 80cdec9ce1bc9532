/// A node of the cluster as it registers itself: the value of the key `nodes/<id>`, in JSON.
package struct NodeRecord: Hashable, Sendable, Codable {
    /// Letters, digits, `-` and `.`, at most 63; the same over restarts (`cluster.node`).
    package var id: String
    /// Differs at each start of the process.
    package var incarnation: String
    /// The base URL of the internal listener, such as `http://10.0.0.3:8081`, for the other nodes only.
    package var url: String
    /// Empty: none.
    package var zone: String
    /// The version of what nodes store of rooms for each other: this node reads what needs this one or less.
    package var `protocol`: Int
    /// The lowest `protocol` of nodes that rooms may go to from here; nil: this node's own.
    package var needs: Int?
    /// The version of the server.
    package var version: String
    /// Whether the node takes no new rooms because it is to end.
    package var isDraining: Bool

    package init(
        id: String, incarnation: String, url: String, zone: String = "", protocol: Int = 1, needs: Int? = nil,
        version: String = "", isDraining: Bool = false
    ) {
        self.id = id
        self.incarnation = incarnation
        self.url = url
        self.zone = zone
        self.protocol = `protocol`
        self.needs = needs
        self.version = version
        self.isDraining = isDraining
    }
}

/// What a node has to do: the value of the key `load/<id>`, in JSON.
package struct NodeLoad: Hashable, Sendable, Codable {
    /// The larger of the encoder threads' and the busiest loop's utilisation, 0 to 1.
    package var used: Double
    /// Whether the node refuses new rooms now (overload, or `limits.rooms`).
    package var isFull: Bool
    package var rooms: Int
    package var seats: Int

    package init(used: Double = 0, isFull: Bool = false, rooms: Int = 0, seats: Int = 0) {
        self.used = used
        self.isFull = isFull
        self.rooms = rooms
        self.seats = seats
    }
}
