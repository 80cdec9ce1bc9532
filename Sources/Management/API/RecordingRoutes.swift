package import Admission
import Basics
import Conference
import FoundationEssentials
import Glibc
import Hummingbird
import Recording
package import WebServer

/// The most parts of a recording that can be asked for.
private let maxParts = 1_000_000
private let maxTracks = 1_000_000

/// The parameters of a signed link (`RecordingLinks`).
private let signedLink: [RouteDescription.Parameter] = [
    .query("expires", "Of a signed link: its end, in seconds since 1970."), .query("signature", "Of a signed link."),
]

/// The routes of recordings: start, pause, stop, list, download.
extension RouteTable {
    /// - Parameters:
    ///   - policy: says who may pause a recording.
    ///   - downloads: the places of files that are sent at the same time.
    ///   - publicURL: the beginning of links; empty: links begin with the path.
    package mutating func addRecordings(
        _ recordings: any ConferenceRecordings, links: RecordingLinks, policy: AccessPolicy,
        downloads: ConcurrencyLimit,
        publicURL: String
    ) {
        let one = RouteDescription.Answer.json("The recording.", Schema.ref("Recording"))
        add(
            Route(
                .post, "/api/rooms/{room}/recordings", .admin,
                RouteDescription(
                    tag: "recordings",
                    summary:
                        "Starts recording a room; without a body only where no recording runs, else beside others, up to recording.perRoom",
                    body: ("application/json", Schema.ref("RecordingRequest")),
                    answers: [.json(201, "It runs.", Schema.ref("Recording"))],
                    failures: [400, 404, 409, 429, 503])
            ) { asked in
                let room = try asked.room()
                let wish = try await RecordingRequest(asked.object(keys: ["view", "audioOnly", "tracks", "group"]))
                return .json(try await recordings.start(room, wish).jsonForReaders, status: .created)
            })
        add(
            Route(
                .get, "/api/recordings", .recordings,
                RouteDescription(
                    tag: "recordings", summary: "The recordings, a page at a time",
                    parameters: [
                        .query(
                            "limit", "The most recordings to return; \(RecordingService.usualNumber) by default.",
                            Schema.integer(1...RecordingService.maxAtOnce)),
                        .query(
                            "before",
                            "The id of a recording: those that began before it. The last one of a page gives the next page."
                        ),
                    ],
                    answers: [.json("The list, the newest first.", Schema.list(of: Schema.ref("Recording")))],
                    failures: [400]),
                placement: .everywhere(.recordings)
            ) { asked in
                let limit =
                    try asked.wholeNumber("limit", in: 1...RecordingService.maxAtOnce)
                    ?? RecordingService.usualNumber
                if let part = try recordings.recordings(forNode: asked, limit: limit) { return .json(.array(part)) }
                let before = asked.query("before")
                if let before, recordings.recording(before) == nil {
                    throw APIError.badRequest(
                        "before: there is no such recording (any more); leave it out to begin with the newest")
                }
                return .json(.array(recordings.list(before: before, limit: limit).map(\.jsonForReaders)))
            })
        add(
            Route(
                .get, "/api/recordings/{id}", .recordings,
                RouteDescription(tag: "recordings", summary: "One recording", answers: [one], failures: [404]),
                placement: .node("id")
            ) { asked in .json(try recordings.known(asked.parameter("id")).jsonForReaders) })
        add(
            Route(
                .patch, "/api/recordings/{id}", .recordingKeeper,
                RouteDescription(
                    tag: "recordings",
                    summary: "Pauses or resumes a recording (administrators), or gives a complete one a title",
                    body: ("application/json", Schema.ref("RecordingChange")), answers: [one],
                    failures: [400, 404, 409]),
                placement: .node("id")
            ) { asked in
                let id = asked.parameter("id")
                let body = try await asked.object(keys: ["state", "title"])
                if let title = try body.text("title"), body.members.count == 1 {
                    return .json(try await recordings.rename(id, to: title).json)
                }
                guard policy.isAdmin(asked) else { throw APIError.badRequest("title: the text, or empty for none") }
                switch try body.text("state") {
                case "paused" where body.members.count == 1: return .json(try recordings.pause(id).json)
                case "recording" where body.members.count == 1:
                    return .json(try recordings.resume(id).json)
                default: throw APIError.badRequest("state: paused or recording, or title, and not both")
                }
            })
        add(
            Route(
                .post, "/api/recordings/{id}/stop", .admin,
                RouteDescription(
                    tag: "recordings", summary: "Finishes a recording; answers once its file is complete",
                    answers: [one], failures: [404, 409]),
                placement: .node("id")
            ) { asked in .json(try await recordings.stop(asked.parameter("id")).jsonForReaders) })
        add(
            Route(
                .post, "/api/recordings/{id}/marks", .admin,
                RouteDescription(
                    tag: "recordings", summary: "Sets a mark in a running recording, which becomes a chapter",
                    body: ("application/json", Schema.ref("Mark")), answers: [.empty(204, "Set.")],
                    failures: [400, 404, 409, 429]),
                placement: .node("id")
            ) { asked in
                guard let text = try await asked.object(keys: ["text"]).text("text") else {
                    throw APIError.badRequest("text: the title of the chapter")
                }
                try recordings.mark(asked.parameter("id"), text)
                return Response(status: .noContent)
            })
        add(
            Route(
                .post, "/api/recordings/{id}/deliver", .admin,
                RouteDescription(
                    tag: "recordings",
                    summary: "Delivers a complete recording by recording.onFinished, once more or at once",
                    answers: [.json(202, "It waits for its turn.", Schema.ref("Recording"))], failures: [404, 409, 503]),
                placement: .node("id")
            ) { asked in
                .json(try await recordings.deliver(asked.parameter("id")).jsonForReaders, status: .accepted)
            })
        add(
            Route(
                .delete, "/api/recordings/{id}", .recordingKeeper,
                RouteDescription(
                    tag: "recordings",
                    summary: "Removes a complete recording with all its files, whether it was delivered or not",
                    answers: [.empty(204, "Removed.")], failures: [404, 409, 503]),
                placement: .node("id")
            ) { asked in
                try await recordings.remove(asked.parameter("id"))
                return Response(status: .noContent)
            })
        addTimeline(recordings, downloads)
        addThumbnail(recordings, downloads)
        add(
            Route(
                .post, "/api/recordings/{id}/link", .recordingKeeper,
                RouteDescription(
                    tag: "recordings", summary: "Makes a link to the MP4 that works without a token until it ends",
                    body: ("application/json", Schema.ref("LinkWish")),
                    answers: [.json(201, "The link; &part=2 opens the second file.", Schema.ref("Link"))],
                    failures: [400, 404]),
                placement: .node("id")
            ) { asked in
                let seconds = try await asked.object(keys: ["seconds"]).integer("seconds") ?? RecordingLinks.defaultLife
                guard (1...RecordingLinks.maxLife).contains(seconds) else {
                    throw APIError.badRequest("seconds: a whole number from 1 to \(RecordingLinks.maxLife)")
                }
                let recording = try recordings.known(asked.parameter("id"))
                let expires = Int(Date().timeIntervalSince1970) + seconds
                return .json(
                    [
                        "url": .string(publicURL + links.path(of: recording.id, expires: expires)),
                        "expiresAt": .date(Date(timeIntervalSince1970: TimeInterval(expires))),
                    ], status: .created)
            })
        add(
            Route(
                .get, "/api/recordings/{id}/file", .recordingFile,
                RouteDescription(
                    tag: "recordings", summary: "The MP4, or the file of a participant's track",
                    parameters: [
                        .header("Range", "One range of bytes."),
                        .query(
                            "part", "The file of a recording that has several, from 1 on.", Schema.integer(1...maxParts)
                        ),
                        .query(
                            "track", "A file of `tracks`, from 1 on, instead of a part.", Schema.integer(1...maxTracks)),
                    ] + signedLink,
                    answers: [
                        .file("The file.", "video/mp4"), .file(206, "The range.", "video/mp4"),
                        .empty(304, "Unchanged."),
                    ],
                    failures: [400, 404, 416, 503]),
                placement: .node("id")
            ) { asked in
                let part = try asked.wholeNumber("part", in: 1...maxParts) ?? 1
                let track = try asked.wholeNumber("track", in: 1...maxTracks)
                let id = asked.parameter("id")
                let path =
                    if let track { try recordings.path(of: id, track: track) } else {
                        try recordings.path(of: id, part: part)
                    }
                let isDelivered = recordings.recording(id)?.delivery?.state == .delivered
                if isDelivered, access(path, F_OK) != 0 {
                    throw APIError.notFound(
                        "the file was delivered elsewhere and is not on this server any more: delivery.location of the recording says where it is"
                    )
                }
                return try await FileAnswer.make(path, RecordingFile.mediaType(path), for: asked, downloads)
            })
    }

    /// A small picture of a recording, for those who may have its file.
    private mutating func addThumbnail(_ recordings: any ConferenceRecordings, _ downloads: ConcurrencyLimit) {
        add(
            Route(
                .get, "/api/recordings/{id}/thumbnail", .recordingFile,
                RouteDescription(
                    tag: "recordings",
                    summary: "A small picture of a complete recording, 320 pixels wide; none of audio alone",
                    parameters: signedLink,
                    answers: [.file("The picture.", "image/jpeg"), .empty(304, "Unchanged.")], failures: [404, 503]),
                placement: .node("id")
            ) { asked in
                let path = try await recordings.thumbnailPath(of: asked.parameter("id"))
                return try await FileAnswer.make(path, "image/jpeg", for: asked, downloads)
            })
    }

    /// Who was in a recording and who spoke when, for those who may have its file.
    private mutating func addTimeline(_ recordings: any ConferenceRecordings, _ downloads: ConcurrencyLimit) {
        add(
            Route(
                .get, "/api/recordings/{id}/timeline", .recordingFile,
                RouteDescription(
                    tag: "recordings", summary: "Who was in a complete recording and who spoke when, with its chapters",
                    parameters: [
                        .query(
                            "format", "`vtt`: a WebVTT with the names of who speaks.", Schema.choice(["json", "vtt"]))
                    ] + signedLink,
                    answers: [.json("The timeline.", Schema.ref("Timeline"))], failures: [400, 404, 503]),
                placement: .node("id")
            ) { asked in
                let format = asked.query("format") ?? "json"
                guard ["json", "vtt"].contains(format) else { throw APIError.badRequest("format: json or vtt") }
                let path = try recordings.timelinePath(of: asked.parameter("id"), asText: format == "vtt")
                return try await FileAnswer.make(
                    path, format == "vtt" ? "text/vtt; charset=utf-8" : "application/json", for: asked, downloads)
            })
    }
}

extension FileAnswer {
    /// A file to download, as long as not too many are.
    fileprivate static func make(
        _ path: String, _ type: String, for asked: RouteRequest, _ downloads: ConcurrencyLimit
    ) async throws -> Response {
        guard let place = downloads.take() else {
            throw APIError(.overloaded, "too many recordings are being downloaded", headers: [.retryAfter: "10"])
        }
        return try await make(
            path: path, type: type, downloadName: URL(fileURLWithPath: path).lastPathComponent, for: asked,
            holding: place)
    }
}

extension RecordingRequest {
    /// nil where the body asks for nothing.
    fileprivate init?(_ body: ObjectBody) throws(APIError) {
        if body.members.isEmpty { return nil }
        self.init(
            view: try body.text("view"), audioOnly: try body.bool("audioOnly") ?? false,
            tracks: try body.bool("tracks"),
            group: try body.integer("group") ?? 0)
        if audioOnly, view != nil { throw .badRequest("view: leave it out, since audioOnly has no picture") }
    }
}

extension ConferenceRecordings {
    fileprivate func known(_ recording: String) throws(ConferenceError) -> RecordingInfo {
        guard let known = self.recording(recording) else { throw .recordingNotFound(recording) }
        return known
    }
}
