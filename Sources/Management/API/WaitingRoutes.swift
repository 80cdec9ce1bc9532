import Admission
import Conference
import Hummingbird
import WebServer

/// The routes of those who wait to be let into a room.
extension RouteTable {
    mutating func addWaiting(_ people: any ConferencePeople) {
        add(
            Route(
                .get, "/api/rooms/{room}/waiting", .admin,
                RouteDescription(
                    tag: "rooms", summary: "Those who wait to be let in",
                    answers: [.json("The first comer first.", Schema.list(of: Schema.ref("WaitingPerson")))],
                    failures: [404])
            ) { asked in
                let waiting = try people.waiting(in: try asked.room())
                return .json(.array(waiting.map { ["id": .string($0.id), "name": .string($0.name)] }))
            })
        add(
            Route(
                .post, "/api/rooms/{room}/waiting/{id}", .admin,
                RouteDescription(
                    tag: "rooms", summary: "Lets in or refuses one who waits, or all of that one's network address",
                    body: ("application/json", Schema.ref("WaitingDecision")),
                    answers: [.empty(204, "Decided.")], failures: [400, 404, 413])
            ) { asked in
                let body = try await asked.object(keys: ["decision"])
                guard let text = try body.text("decision"), let decision = WaitingDecision(rawValue: text) else {
                    let all = WaitingDecision.allCases.map(\.rawValue).joined(separator: ", ")
                    throw APIError(.badRequest, "decision: one of \(all)", status: .badRequest)
                }
                try people.decide(decision, about: asked.parameter("id"), in: try asked.room())
                return Response(status: .noContent)
            })
    }
}
