/// The cluster as the endpoints use it. `ClusterNode` conforms to it; tests of the endpoints use a fake.
package protocol ClusterDirectory: Sendable {
    /// This node's record.
    var here: NodeRecord { get }
    var view: ClusterView { get }

    /// The owner of a room; nil: nobody has it. Answers from memory where that is up to date.
    func owner(of room: String) async throws(ClusterError) -> RoomOwner?
    /// The owner of a room; a room that nobody has is placed first.
    func place(_ room: String, _ wish: PlacementWish) async throws(ClusterError) -> RoomOwner
    /// ConcurrencyLimit a room anew whose owner takes no room now although the store says so, on none of the `full` nodes. Returns
    /// the owner that another node has placed meanwhile, whichever that is.
    func place(_ room: String, insteadOf owner: RoomOwner, full: Set<String>) async throws(ClusterError) -> RoomOwner
    /// The owner of a room as the store has it now: for who was told by a node that it is not the owner.
    func lookUp(_ room: String) async throws(ClusterError) -> RoomOwner?
    /// Tells that the owner's internal port refused two connections. Where another node finds the same, or the owner has
    /// not written to the store for two periods, its process is gone, and the room need not wait for the end of its
    /// lease. Returns whether that is so.
    func ownerIsGone(_ owner: RoomOwner, of room: String) async -> Bool
    /// Gives up a room that has ended here, with its stored state.
    ///
    /// - Parameter left: the state in its place, and how long it is kept unless somebody makes the room again; nil: none.
    func release(_ room: String, leaving left: (state: [UInt8], life: Duration)?) async
    /// Gives a room of this node to another; returns its new owner.
    func move(_ room: String) async throws(ClusterError) -> RoomOwner

    /// Stores the state of a room of this node for its next owner. `state` is JSON of at most 512 KiB.
    func store(_ state: [UInt8], of room: String) async
    /// The stored state of a room; nil: there is none.
    func stored(_ room: String) async throws(ClusterError) -> [UInt8]?

    /// Stores a layout for all nodes, which apply it; this one has before the return. `json` has at most 256 KiB, and was
    /// checked. Returns false, and stores nothing, where there are too many layouts.
    func putLayout(_ name: String, _ json: [UInt8]) async throws(ClusterError) -> Bool
    /// Removes a layout from the store, and by that from all nodes. Returns false where the store has none of the name.
    func deleteLayout(_ name: String) async throws(ClusterError) -> Bool

    /// Announces that this node takes no new rooms, or takes them again.
    func setDraining(_ isDraining: Bool) async
}

extension ClusterDirectory {
    package func release(_ room: String) async { await release(room, leaving: nil) }
}

/// What the cluster asks of the server that runs on this node. Called on the cluster's own tasks.
package protocol ClusterHost: Sendable {
    /// The rooms that are here.
    var rooms: [String] { get }
    var load: NodeLoad { get }
    /// Ends rooms that another node has or will have: their clients are told to come back (`left` with reason `moved`).
    func lose(_ rooms: [String])
    /// Ends the pipes that lead to a node, since it is gone.
    func nodeIsGone(_ node: NodeRecord)
    /// Takes over a layout of the store; nil: it is gone. Called for one after the other, with a lock held: it waits for
    /// no disk.
    func useLayout(_ name: String, _ json: [UInt8]?)
    /// Returns when those of `useLayout` are in use, or when the disk that they need has not answered for too long.
    func settleLayouts() async
}
