import Foundation

/// Requests to the HTTP interface during the calls.
struct SoakRequests: Sendable {
    let stage: SoakGuest.Stage

    func run(_ requests: [(at: Double, what: SoakPlan.Request)]) async throws {
        var recordings: [String: String] = [:]
        for request in requests {
            try await stage.sleep(until: request.at)
            do {
                try await run(request.what, &recordings)
            } catch {
                try Task.checkCancellation()
                stage.tally.fault("\(error)")
            }
        }
    }

    private func run(_ request: SoakPlan.Request, _ recordings: inout [String: String]) async throws {
        switch request {
        case .snapshot(let room):
            let answer = try await ask("GET", "/api/rooms/\(room)/snapshot.png")
            guard answer.body.starts(with: [0x89, 0x50]) else { throw BenchError("the snapshot of \(room) is no PNG") }
        case .startRecording(let room):
            recordings[room] = text("id", of: try await ask("POST", "/api/rooms/\(room)/recordings", expect: 201))
        case .stopRecording(let room):
            let stopped = try await ask("POST", "/api/recordings/\(recordings[room] ?? "")/stop")
            guard text("state", of: stopped) == "finished" else {
                throw BenchError("a recording of \(room) ended as \(stopped.text)")
            }
        case .mute(let room):
            let people = object(try await ask("GET", "/api/rooms/\(room)"))["participants"] as? [[String: Any]]
            guard let id = people?.first?["id"] as? String else { throw BenchError("nobody is in \(room)") }
            for isMuted in [true, false] {
                _ = try await ask(
                    "PATCH", "/api/rooms/\(room)/participants/\(id)", body: "{\"audioMuted\": \(isMuted)}")
            }
        case .end(let room): _ = try await ask("DELETE", "/api/rooms/\(room)", expect: 204)
        }
        stage.tally.count("HTTP requests")
    }

    private func ask(_ method: String, _ path: String, body: String = "", expect status: Int = 200) async throws
        -> HTTPAnswer
    {
        let headers = body.isEmpty ? [] : [("Content-Type", "application/json")]
        let answer = try await stage.http.fetch(method, path, headers: headers, body: body)
        guard answer.status == status else {
            throw BenchError("\(method) \(path): \(answer.status) \(answer.text.prefix(200))")
        }
        return answer
    }

    private func object(_ answer: HTTPAnswer) -> [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(answer.body))) as? [String: Any] ?? [:]
    }

    private func text(_ key: String, of answer: HTTPAnswer) -> String { object(answer)[key] as? String ?? "" }
}
