package import Hummingbird

/// Which of several servers answers a route. What they are, and how one reaches another, is the `RequestRouter`'s.
package enum Placement: Sendable {
    /// The one that got the request: pages, health, metrics.
    case here
    /// The one that got the request, or where it does not have the file another one that does: each version of the
    /// program has files of its own, and while servers are upgraded a page may come from one and its files from another.
    case pageFile
    /// The owner of what the request names; where it names nothing, the server that got the request.
    case owner(OwnerKey, OwnerNeed)
    /// The owner of something of which there is one among all servers, by its name.
    case singleton(String)
    /// Every server; their lists become one. The name says how.
    case everywhere(String)
    /// Every server does the same; the answer is that of the server that got the request.
    case byAll
    /// The server that an id in the path begins with (`NODE-…`, `NODE.…`). For an id without one: where it is found.
    case node(String)
    /// Server-sent events of all servers.
    case events
}

/// Reads from a request what its owner is found by.
package struct OwnerKey: Sendable {
    /// nil: the request names nothing that has an owner.
    package let name: @Sendable (RouteRequest) -> String?

    package init(_ name: @escaping @Sendable (RouteRequest) -> String?) { self.name = name }
}

/// What a request needs of what it names.
package enum OwnerNeed: Sendable, Equatable {
    /// What nobody has does not exist.
    case reads
    /// What nobody has is placed where its stored state shows that it lost its owner.
    case returns
    /// What nobody has is placed.
    case creates
}

/// Answers a checked request, by `serve` or by another server that has what the request is for.
package protocol RequestRouter: Sendable {
    typealias Serve = @Sendable (RouteRequest) async throws -> Response

    func response(to asked: RouteRequest, by route: Route, serve: @escaping Serve) async throws -> Response
}
