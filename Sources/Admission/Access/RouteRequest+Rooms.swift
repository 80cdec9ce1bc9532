import Conference
package import WebServer

extension RouteRequest {
    /// The room in the path.
    ///
    /// - Throws: 400 for a text that cannot be a room's id.
    package func room() throws(APIError) -> String {
        let room = parameter("room")
        guard Names.isRoom(room) else { throw .badRequest("a room's id is \(Names.roomRule)") }
        return room
    }

    /// The parts of a signed link to a recording's file, where the request has them.
    var recordingLink: RecordingLinks.Link {
        RecordingLinks.Link(id: parameter("id"), expires: query("expires"), signature: query("signature"))
    }
}

extension Placement {
    /// The owner of the room that a parameter of the path names.
    package static func room(_ parameter: String, _ need: OwnerNeed) -> Placement {
        .owner(OwnerKey { $0.parameter(parameter) }, need)
    }

    /// The owner of the room that a parameter of the query names; without it the server that got the request.
    package static func roomInQuery(_ name: String) -> Placement { .owner(OwnerKey { $0.query(name) }, .reads) }
}

/// The lists that every server has a part of.
package enum ClusterList: String, Sendable {
    case rooms, recordings
}

extension Placement {
    package static func everywhere(_ list: ClusterList) -> Placement { .everywhere(list.rawValue) }
}
