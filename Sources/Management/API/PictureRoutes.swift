package import Admission
import Conference
import HTTPTypes
import Hummingbird
package import WebServer

/// The routes of the chats' pictures.
extension RouteTable {
    /// - Parameter downloads: the places of files that are sent at the same time.
    package mutating func addPictures(
        _ conference: ConferenceServices, downloads: ConcurrencyLimit
    ) {
        add(
            Route(
                .post, "/api/rooms/{room}/chat/pictures", .endpoint,
                RouteDescription(
                    tag: "chat",
                    summary:
                        "Sends a picture to the chat of the room, by who sits there: Authorization: Bearer with the id "
                        + "and the secret of joined.you.resume, joined by a dot",
                    parameters: [.query("to", "The id of the only receiver; everyone without it.")],
                    body: ("image/*", ["type": "string", "contentMediaType": "image/*"]),
                    answers: [.json(201, "Sent.", Schema.ref("ChatPicture"))],
                    failures: [400, 401, 403, 404, 413, 415, 429, 500, 503]),
                bodyLimit: ChatPicture.maxBytes
            ) { asked in
                let room = try asked.room()
                // Before the body: who has no seat gets nothing read.
                let claim = try asked.seatClaim()
                let seat = try conference.seats.seat(of: claim, in: room)
                let picture = try await seat.sendPicture(
                    try await asked.body(upTo: ChatPicture.maxBytes), to: asked.query("to"))
                return .json(picture.json, status: .created)
            })
        add(
            Route(
                .get, "/images/{picture}", .everyone,
                RouteDescription(
                    tag: "chat", summary: "A picture of a chat; who knows its name may read it",
                    parameters: [.header("Range", "One range of bytes.")],
                    answers: [
                        .file("The picture, as JPEG, PNG, GIF or WebP.", "image/*"),
                        .file(206, "The range.", "image/*"), .empty(304, "Unchanged."),
                    ], failures: [404, 416, 503]),
                placement: .node("picture")
            ) { asked in
                let id = asked.parameter("picture")
                let path = try conference.pictures.path(of: id)
                guard let format = ChatPicture.Format(id: id) else { throw ConferenceError.pictureNotFound }
                guard let place = downloads.take() else {
                    throw APIError(.overloaded, "too many files are being downloaded", headers: [.retryAfter: "5"])
                }
                var answer = try await FileAnswer.make(
                    path: path, type: format.type, downloadName: id, for: asked, holding: place)
                // The file of a name never changes.
                answer.headers[.cacheControl] = "private, max-age=31536000, immutable"
                // Whatever the bytes behind the first ones are: nothing in them runs as a page of this server.
                answer.headers[.contentSecurityPolicy] = "default-src 'none'; sandbox"
                return answer
            })
    }
}
