import Conference

/// Which node of a cluster answers a route.
enum Placement: Sendable, Equatable {
    /// The one that got the request: pages, health, metrics.
    case here
    /// The one that got the request, or where it does not have the file another one that does: each version of the
    /// program has files of its own, and while nodes are upgraded a page may come from one and its files from another.
    case pageFile
    /// The owner of the room that a parameter of the path names.
    case room(String, RoomNeed)
    /// The owner of the room that a path of AppRTC names, which may have the room's PIN in it.
    case appRTCRoom(RoomNeed)
    /// The owner of the room that a parameter of the query names; without it the node that got the request.
    case roomInQuery(String)
    /// Every node; their lists become one.
    case everywhere(ClusterList)
    /// Every node does the same; the answer is that of the node that got the request.
    case byAll
    /// The node that an id in the path begins with (`NODE-…`, `NODE.…`). For an id without one: where it is found.
    case node(String)
    /// Server-sent events of all nodes.
    case events
    /// The owner of the Socket.IO family.
    case socketIO

    /// The pseudo-room whose owner has all accounts, chats and sessions of the Socket.IO family.
    static let socketIORoom = Names.socketIOFamily

    /// The usual one of a path: the owner of the room that is in it.
    ///
    /// - Parameter isPage: pages are the same on every node.
    static func usual(_ path: String, isPage: Bool) -> Placement {
        !isPage && path.contains("/{room}") ? .room("room", .reads) : .here
    }
}

/// What a request needs of its room.
enum RoomNeed: Sendable, Equatable {
    /// A room that nobody has does not exist.
    case reads
    /// A room that nobody has is placed where its stored state shows that it lost its owner.
    case returns
    /// A room that nobody has is placed.
    case creates
}

/// The lists of all nodes.
enum ClusterList: Sendable, Equatable {
    case rooms, recordings
}
