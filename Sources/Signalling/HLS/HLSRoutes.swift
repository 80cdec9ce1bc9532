import Admission
import Hummingbird
import WebServer

/// The routes of HLS.
extension RouteTable {
    package mutating func addHLS(_ endpoint: HLSEndpoint) {
        let credentials: [RouteDescription.Parameter] = [
            .query("token", "The token, or Authorization: Bearer. All addresses in the playlists carry it."),
            .query("pin", "The room's PIN, likewise."),
        ]
        add(
            Route(
                .get, "/hls/{room}/index.m3u8", .endpoint,
                RouteDescription(
                    tag: "doors", summary: "Watches a room with a player of HLS, where the room's `hls` is true",
                    parameters: credentials,
                    answers: [.file("The multivariant playlist (RFC 8216).", "application/vnd.apple.mpegurl")],
                    failures: [401, 403, 404, 409, 429, 503]),
                isStream: true
            ) { asked in try await endpoint.index(asked) })
        add(
            Route(
                .get, "/hls/{room}/{file}", .endpoint,
                RouteDescription(
                    tag: "doors",
                    summary: "What the playlists of HLS name: the media's playlist, headers, segments, parts",
                    parameters: credentials + [
                        .query(
                            "_HLS_msn", "Of a playlist: the answer waits until it has this segment …", Schema.integer),
                        .query("_HLS_part", "… or this part of it.", Schema.integer),
                    ],
                    answers: [
                        .file("The media, or a playlist.", "video/mp4")
                    ],
                    failures: [400, 401, 403, 404, 429, 503]),
                isStream: true
            ) { asked in try await endpoint.file(asked) })
    }
}
