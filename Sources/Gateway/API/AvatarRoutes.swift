import Conference
import HTTPTypes
import Hummingbird

/// The routes of avatars.
extension RouteTable {
    mutating func addAvatars(_ conference: any ConferenceService) {
        let path = "/api/rooms/{room}/participants/{id}/avatar"
        add(
            Route(
                .put, path, .admin,
                RouteDescription(
                    tag: "participants", summary: "Gives a participant an avatar, shown while no picture comes",
                    body: ("image/*", ["type": "string", "contentMediaType": "image/*"]),
                    answers: [.empty(204, "Taken: a PNG or JPEG file of at most 1 MiB and 16 megapixels.")],
                    failures: [404, 413, 415, 503]),
                bodyLimit: Avatars.maxBytes
            ) { asked in
                let room = try asked.room()
                try await conference.setAvatar(
                    try await asked.body(upTo: Avatars.maxBytes), of: asked.parameter("id"), in: room)
                return Response(status: .noContent)
            })
        add(
            Route(
                .get, path, .insider,
                RouteDescription(
                    tag: "participants", summary: "A participant's avatar",
                    answers: [.file("The picture, at most 256 pixels wide and high.", "image/png")],
                    failures: [404, 503])
            ) { asked in
                .bytes(try await conference.avatar(of: asked.parameter("id"), in: try asked.room()), type: "image/png")
            })
        add(
            Route(
                .delete, path, .admin,
                RouteDescription(
                    tag: "participants", summary: "Takes a participant's avatar away",
                    answers: [.empty(204, "Gone, or there was none.")], failures: [404])
            ) { asked in
                try await conference.setAvatar(nil, of: asked.parameter("id"), in: try asked.room())
                return Response(status: .noContent)
            })
        addStoredAvatars(conference)
    }

    /// Avatars that tokens name by their claim `avatar`.
    private mutating func addStoredAvatars(_ conference: any ConferenceService) {
        let path = "/api/avatars/{name}"
        add(
            Route(
                .put, path, .admin,
                RouteDescription(
                    tag: "participants", summary: "Stores an avatar for tokens with the claim avatar: NAME",
                    body: ("image/*", ["type": "string", "contentMediaType": "image/*"]),
                    answers: [.empty(204, "Stored: a PNG or JPEG file of at most 1 MiB and 16 megapixels.")],
                    failures: [400, 413, 415, 500, 503]),
                bodyLimit: Avatars.maxBytes
            ) { asked in
                try await conference.storeAvatar(
                    try await asked.body(upTo: Avatars.maxBytes), as: asked.parameter("name"))
                return Response(status: .noContent)
            })
        add(
            Route(
                .get, path, .admin,
                RouteDescription(
                    tag: "participants", summary: "A stored avatar",
                    answers: [.file("The file as it was stored, PNG or JPEG.", "image/*")], failures: [400, 404, 503])
            ) { asked in
                let file = try await conference.storedAvatar(asked.parameter("name"))
                return .bytes(file, type: ChatPicture.Format(file)?.type ?? "image/png")
            })
        add(
            Route(
                .delete, path, .admin,
                RouteDescription(
                    tag: "participants", summary: "Deletes a stored avatar", answers: [.empty(204, "Deleted.")],
                    failures: [400, 404, 503])
            ) { asked in
                try await conference.deleteStoredAvatar(asked.parameter("name"))
                return Response(status: .noContent)
            })
    }
}
