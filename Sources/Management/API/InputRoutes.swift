package import Admission
import Conference
import Hummingbird
import WebServer

/// The routes of sources that are pulled into rooms.
extension RouteTable {
    package mutating func addInputs(_ inputs: any ConferenceInputs) {
        let path = "/api/rooms/{room}/inputs"
        add(
            Route(
                .post, path, .admin,
                RouteDescription(
                    tag: "inputs",
                    summary: "Pulls a source into a room as a participant: SRT, RTMP, RTSP, HTTP, or a file",
                    body: ("application/json", Schema.ref("InputRequest")),
                    answers: [.json(201, "It is being opened.", Schema.ref("Input"))], failures: [400, 404, 409, 503])
            ) { asked in
                let body = try await asked.object(keys: ["url", "name", "loop"])
                guard let url = try body.text("url") else {
                    throw APIError.badRequest("url: the URL of the source, or the path of a file")
                }
                guard let name = try body.text("name") else {
                    throw APIError.badRequest("name: the name of the participant that shows it")
                }
                let wish = InputRequest(url: url, name: name, loops: try body.bool("loop") ?? false)
                return .json(try inputs.add(wish, to: try asked.room()).json, status: .created)
            })
        add(
            Route(
                .get, path, .admin,
                RouteDescription(
                    tag: "inputs", summary: "The inputs of a room, the oldest first, with the last ones that are over",
                    answers: [.json("The list.", Schema.list(of: Schema.ref("Input")))], failures: [404])
            ) { asked in .json(.array(try inputs.list(try asked.room()).map(\.json))) })
        add(
            Route(
                .get, path + "/{id}", .admin,
                RouteDescription(
                    tag: "inputs", summary: "One input", answers: [.json("The input.", Schema.ref("Input"))],
                    failures: [404])
            ) { asked in .json(try inputs.input(asked.parameter("id"), in: try asked.room()).json) })
        add(
            Route(
                .delete, path + "/{id}", .admin,
                RouteDescription(
                    tag: "inputs", summary: "Ends an input: its participant leaves", answers: [.empty(204, "Ended.")],
                    failures: [404])
            ) { asked in
                try inputs.remove(asked.parameter("id"), from: try asked.room())
                return Response(status: .noContent)
            })
    }
}
