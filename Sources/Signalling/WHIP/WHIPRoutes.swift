import Admission
import Hummingbird
import Peer
import WebServer

/// The routes of WHIP and WHEP.
extension RouteTable {
    package mutating func addWHIP(_ endpoint: WHIPEndpoint) {
        let sdp: JSONValue = ["type": "string", "description": "SDP (RFC 8866)"]
        for direction in [WHIPEndpoint.Direction.whip, .whep] {
            let isWhip = direction == .whip
            let parameters: [RouteDescription.Parameter] =
                isWhip
                ? [
                    .query("name", "The name to show."),
                    .query(
                        "screen",
                        "A participant's id: the session sends the screen of that participant, beside its camera. Needs "
                            + "Authorization: Bearer with the secret of the participant's joined.you.resume."),
                ]
                : [
                    .query("name", "The viewer's name."),
                    .query("as", "A participant's id: that participant's own mix."),
                    .query("view", "The name of the view; without it main, or that of the participant."),
                ]
            add(
                Route(
                    .post, "/\(direction.rawValue)/{room}", .endpoint,
                    RouteDescription(
                        tag: "doors",
                        summary: isWhip ? "Publishes into a room (WHIP, RFC 9725)" : "Watches a room (WHEP)",
                        parameters: parameters, body: ("application/sdp", sdp),
                        answers: [
                            .file(
                                201, "The answer; Location is the session, with ETag and Link headers.",
                                "application/sdp")
                        ],
                        failures: [400, 401, 403, 404, 406, 409, 413, 415, 429, 503]),
                    placement: .room("room", isWhip ? .creates : .returns)
                ) { asked in try await endpoint.start(direction, asked) })
            add(Route(.options, "/\(direction.rawValue)/{room}", .everyone, nil) { asked in endpoint.options(asked) })
            let session = "/\(direction.rawValue)/{room}/{session}"
            add(
                Route(
                    .patch, session, .endpoint,
                    RouteDescription(
                        tag: "doors", summary: "Candidates, or an ICE restart",
                        parameters: [.header("If-Match", "The session's ETag, or * for a restart.")],
                        body: (SDPFragment.contentType, sdp),
                        answers: [.empty(204, "Taken."), .file(200, "The restart's answer.", SDPFragment.contentType)],
                        failures: [400, 404, 409, 412, 415, 428, 429]),
                    placement: .node("session")
                ) { asked in try await endpoint.trickle(direction, asked) })
            add(
                Route(
                    .delete, session, .endpoint,
                    RouteDescription(
                        tag: "doors", summary: "Ends the session", answers: [.empty(200, "Ended.")], failures: [404]),
                    placement: .node("session")
                ) { asked in try await endpoint.stop(direction, asked) })
            add(Route(.options, session, .everyone, nil) { asked in endpoint.sessionOptions(asked) })
        }
    }
}
