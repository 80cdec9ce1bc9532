package import Admission
import Conference
import HTTPTypes
import Hummingbird
import WebServer

/// The routes of avatars: those of participants, and stored ones, which tokens name by their claim `avatar`.
extension RouteTable {
    /// - Parameter policy: says whether a request comes from an administrator or from the participant itself.
    package mutating func addAvatars(_ conference: ConferenceServices, policy: AccessPolicy) {
        addAvatar(
            at: "/api/rooms/{room}/participants/{id}/avatar",
            AvatarRoute(
                writes: .seat, reads: .insider,
                put: "Gives a participant an avatar, shown while no picture comes; by who sits there too",
                get: "A participant's avatar",
                answer: .file("The picture, at most 256 pixels wide and high.", "image/png"),
                delete: "Takes a participant's avatar away; by who sits there too", failures: [404])
        ) { asked, file in
            let (room, id) = (try asked.room(), asked.parameter("id"))
            if policy.isAdmin(asked) { return try await conference.avatars.set(file, of: id, in: room) }
            try await conference.seats.seat(of: try asked.seatClaim(), in: room).setAvatar(file)
        } get: { asked in
            .bytes(try await conference.avatars.png(of: asked.parameter("id"), in: try asked.room()), type: "image/png")
        }
        addAvatar(
            at: "/api/avatars/{name}",
            AvatarRoute(
                writes: .admin, reads: .admin, put: "Stores an avatar for tokens with the claim avatar: NAME",
                get: "A stored avatar", answer: .file("The file as it was stored, PNG or JPEG.", "image/*"),
                delete: "Deletes a stored avatar", failures: [400, 404])
        ) { asked, file in
            let name = asked.parameter("name")
            guard let file else { return try await conference.avatars.delete(name) }
            try await conference.avatars.store(file, as: name)
        } get: { asked in
            let file = try await conference.avatars.file(asked.parameter("name"))
            return .bytes(file, type: ChatPicture.Format(file)?.type ?? "image/png")
        }
    }

    private struct AvatarRoute {
        var writes: Access
        var reads: Access
        var put: String
        var get: String
        var answer: RouteDescription.Answer
        var delete: String
        /// Of all three requests.
        var failures: [Int]
    }

    /// - Parameter set: takes the file; nil deletes.
    private mutating func addAvatar(
        at path: String, _ route: AvatarRoute, set: @escaping @Sendable (RouteRequest, [UInt8]?) async throws -> Void,
        get: @escaping @Sendable (RouteRequest) async throws -> Response
    ) {
        // Stored avatars are needed wherever their holders join.
        let placement: Placement? = path.contains("{room}") ? nil : .byAll
        add(
            Route(
                .put, path, route.writes,
                RouteDescription(
                    tag: "participants", summary: route.put,
                    body: ("image/*", ["type": "string", "contentMediaType": "image/*"]),
                    answers: [.empty(204, "Taken: a PNG or JPEG file of at most 1 MiB and 16 megapixels.")],
                    failures: route.failures + [413, 415, 429, 500, 503]),
                bodyLimit: Avatars.maxBytes, placement: placement
            ) { asked in
                try await set(asked, try await asked.body(upTo: Avatars.maxBytes))
                return Response(status: .noContent)
            })
        add(
            Route(
                .get, path, route.reads,
                RouteDescription(
                    tag: "participants", summary: route.get, answers: [route.answer],
                    failures: route.failures + [503])
            ) { asked in try await get(asked) })
        add(
            Route(
                .delete, path, route.writes,
                RouteDescription(
                    tag: "participants", summary: route.delete, answers: [.empty(204, "Gone, or there was none.")],
                    failures: route.failures + [503]),
                placement: placement
            ) { asked in
                try await set(asked, nil)
                return Response(status: .noContent)
            })
    }
}
