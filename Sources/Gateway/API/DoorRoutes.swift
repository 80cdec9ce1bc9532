import Hummingbird

/// The web client's pages, WHIP and WHEP, and what plain HTTP gets at `/signal`.
extension RouteTable {
    mutating func addPages(_ assets: WebAssets) {
        for path in ["/", "/r/{room}"] {
            add(Route(.get, path, .everyone, nil) { asked in try assets.answer("index.html", for: asked) })
        }
        add(Route(.get, "/assets/{name}", .everyone, nil) { asked in try assets.answer(asked.parameter("name"), for: asked) })
        for name in ["favicon.ico", "favicon.svg", "manifest.webmanifest"] where assets[name] != nil {
            add(Route(.get, "/\(name)", .everyone, nil) { asked in try assets.answer(name, for: asked) })
        }
        add(Route(.get, "/robots.txt", .everyone, nil) { _ in .text("User-agent: *\nDisallow: /\n") })
    }

    mutating func addSignalling() {
        let description = RouteDescription(
            tag: "doors", summary: "Native signalling over WebSocket: one JSON object per text frame",
            answers: [.empty(101, "The connection is a WebSocket now.")], failures: [403, 426])
        add(
            Route(.get, "/signal", .door, description) { _ in
                throw APIError(
                    .upgradeRequired, "upgrade_required", "this is a WebSocket endpoint, version 13",
                    headers: [.upgrade: "websocket", .connection: "Upgrade"])
            })
    }

    mutating func addWHIP(_ door: WHIPDoor) {
        let sdp: JSONValue = ["type": "string", "description": "SDP (RFC 8866)"]
        for direction in [WHIPDoor.Direction.whip, .whep] {
            let isWhip = direction == .whip
            let parameters: [RouteDescription.Parameter] =
                isWhip
                ? [.query("name", "The name to show.")]
                : [.query("name", "The viewer's name."), .query("as", "A participant's id: that participant's own mix.")]
            add(
                Route(
                    .post, "/\(direction.rawValue)/{room}", .door,
                    RouteDescription(
                        tag: "doors", summary: isWhip ? "Publishes into a room (WHIP, RFC 9725)" : "Watches a room (WHEP)",
                        parameters: parameters, body: ("application/sdp", sdp),
                        answers: [.file(201, "The answer; Location is the session, with ETag and Link headers.", "application/sdp")],
                        failures: [400, 401, 403, 404, 406, 409, 413, 415, 429, 503])
                ) { asked in try await door.start(direction, asked) })
            add(Route(.options, "/\(direction.rawValue)/{room}", .everyone, nil) { asked in door.options(asked) })
            let session = "/\(direction.rawValue)/{room}/{session}"
            add(
                Route(
                    .patch, session, .door,
                    RouteDescription(
                        tag: "doors", summary: "Candidates, or an ICE restart",
                        parameters: [.header("If-Match", "The session's ETag, or * for a restart.")],
                        body: (SDPFragment.contentType, sdp),
                        answers: [.empty(204, "Taken."), .file(200, "The restart's answer.", SDPFragment.contentType)],
                        failures: [400, 404, 409, 412, 415, 428, 429])
                ) { asked in try await door.trickle(direction, asked) })
            add(
                Route(
                    .delete, session, .door,
                    RouteDescription(tag: "doors", summary: "Ends the session", answers: [.empty(200, "Ended.")], failures: [404])
                ) { asked in try await door.stop(direction, asked) })
            add(Route(.options, session, .everyone, nil) { asked in door.sessionOptions(asked) })
        }
    }
}

extension HTTPResponse.Status {
    fileprivate static let upgradeRequired = HTTPResponse.Status(code: 426, reasonPhrase: "Upgrade Required")
}
