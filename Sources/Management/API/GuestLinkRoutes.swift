package import Admission
import Basics
import Conference
import FoundationEssentials
import Hummingbird
import WebServer

/// The routes of guest links, for a room's moderators and for administrators.
extension RouteTable {
    /// - Parameter publicURL: the beginning of links; empty: links begin with the path.
    package mutating func addGuestLinks(
        _ conference: ConferenceServices, policy: AccessPolicy, tokens: GuestLinkTokens,
        publicURL: String
    ) {
        let path = "/api/rooms/{room}/links"
        @Sendable func json(_ link: GuestLink, _ room: String) -> JSONValue { link.json(tokens, publicURL, room) }
        /// The moderator who asks; nil: an administrator.
        @Sendable func host(_ asked: RouteRequest) throws -> String? {
            if policy.isAdmin(asked) { return nil }
            return try conference.seats.seat(of: asked.seatClaim(), in: asked.room()).id
        }
        add(
            Route(
                .get, path, .host,
                RouteDescription(
                    tag: "rooms", summary: "The guest links of a room that are good, the oldest first",
                    answers: [.json("The list.", Schema.list(of: Schema.ref("GuestLink")))], failures: [404])
            ) { asked in
                let room = try asked.room()
                return .json(.array(try conference.guestLinks.list(of: room, for: host(asked)).map { json($0, room) }))
            })
        add(
            Route(
                .post, path, .host,
                RouteDescription(
                    tag: "rooms", summary: "Makes a guest link",
                    body: ("application/json", Schema.ref("GuestLinkRequest")),
                    answers: [.json(201, "Made.", Schema.ref("GuestLink"))], failures: [400, 404, 409, 413])
            ) { asked in
                let room = try asked.room()
                let body = try await asked.object(keys: ["role", "expiresIn", "uses"])
                var wish = GuestLinkRequest()
                wish.role = try body.choice("role", Role.self) ?? wish.role
                wish.life = try body.number("expiresIn") ?? wish.life
                wish.uses = try body.integer("uses")
                return .json(
                    json(try conference.guestLinks.make(wish, in: room, for: host(asked)), room), status: .created)
            })
        add(
            Route(
                .delete, path + "/{id}", .host,
                RouteDescription(
                    tag: "rooms", summary: "Revokes a guest link; who has come in by it stays",
                    answers: [.empty(204, "Revoked.")], failures: [404])
            ) { asked in
                try conference.guestLinks.revoke(asked.parameter("id"), in: asked.room(), for: host(asked))
                return Response(status: .noContent)
            })
    }
}

extension GuestLink {
    fileprivate func json(_ tokens: GuestLinkTokens, _ publicURL: String, _ room: String) -> JSONValue {
        let place = publicURL + "/r/" + room.percentEncoded(keeping: "-_.~")
        return .object(
            [
                "id": .string(id), "role": .string(role.rawValue), "expiresAt": .date(expires), "used": .integer(used),
            ],
            where: [
                "uses": uses.map { .integer($0) },
                "url": tokens.token(for: self, of: room).map { .string("\(place)?token=\($0)") },
            ])
    }
}
