import Foundation
import Hummingbird

/// Recordings: start, pause, stop, list, download.
extension RouteTable {
    mutating func addRecordings(_ service: any RoomService) {
        let one = RouteDescription.Answer.json("The recording.", Schema.ref("Recording"))
        add(
            Route(
                .post, "/api/rooms/{room}/recordings", .admin,
                RouteDescription(
                    tag: "recordings", summary: "Starts recording a room", answers: [.json(201, "It runs.", Schema.ref("Recording"))],
                    failures: [404, 409, 503])
            ) { asked in .json(try await service.startRecording(try asked.room()), status: .created) })
        add(
            Route(
                .get, "/api/recordings", .reader,
                RouteDescription(
                    tag: "recordings", summary: "All recordings",
                    answers: [.json("The list, running ones first.", Schema.list(of: Schema.ref("Recording")))])
            ) { _ in .json(await service.recordings()) })
        add(
            Route(
                .get, "/api/recordings/{id}", .reader,
                RouteDescription(tag: "recordings", summary: "One recording", answers: [one], failures: [404])
            ) { asked in .json(try await service.recording(asked.parameter("id"))) })
        add(
            Route(
                .patch, "/api/recordings/{id}", .admin,
                RouteDescription(
                    tag: "recordings", summary: "Pauses a recording, or goes on with it",
                    body: ("application/json", Schema.ref("RecordingChange")), answers: [one], failures: [400, 404, 409])
            ) { asked in
                struct Change: Decodable { var state: String }
                let change = try await asked.object(Change.self, keys: ["state"])
                guard change.state == "paused" || change.state == "recording" else {
                    throw APIError.badRequest("state: paused or recording")
                }
                return .json(try await service.setRecording(asked.parameter("id"), paused: change.state == "paused"))
            })
        add(
            Route(
                .post, "/api/recordings/{id}/stop", .admin,
                RouteDescription(
                    tag: "recordings", summary: "Finishes a recording; answers once its file is complete", answers: [one], failures: [404, 409])
            ) { asked in .json(try await service.stopRecording(asked.parameter("id"))) })
        add(
            Route(
                .get, "/api/recordings/{id}/file", .reader,
                RouteDescription(
                    tag: "recordings", summary: "The MP4", parameters: [("header", "Range", "One range of bytes.")],
                    answers: [.file("The file.", "video/mp4"), .file(206, "The range.", "video/mp4"), .empty(304, "Unchanged.")],
                    failures: [404, 416])
            ) { asked in
                let path = try await service.recordingFile(asked.parameter("id"))
                return try await FileAnswer.make(
                    path: path, type: "video/mp4", downloadName: URL(fileURLWithPath: path).lastPathComponent, for: asked)
            })
    }
}
