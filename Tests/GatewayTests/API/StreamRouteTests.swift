import HTTPTypes
import Testing

@testable import Admission
@testable import Conference
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct StreamRouteTests {
    private static let path = "/api/rooms/r/streams"

    @Test func `a stream is asked for with its view and interval, and answered without its key`() async throws {
        let host = await Host(FakeConference())
        let body = #"{"url": "rtmp://live.example/app/k3y", "view": "portrait", "keyframeInterval": 1.5}"#
        let answer = try await host.ask(.post, Self.path, body: body)
        #expect(answer.status == 201)
        #expect(answer.json["state"] == "connecting" && answer.json["url"] == "rtmp://live.example/app/…")
        #expect(host.service.asked.last == "stream rtmp://live.example/app/k3y portrait 1.5 seconds")
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"url": 1}"#, #"{"url": "a", "keyframe": 1}"#, #"{"url": "a", "keyframeInterval": 1e300}"#,
        #"{"url": "a", "keyframeInterval": -1}"#, #"{"url": "a", "view": 1}"#,
    ])
    func `a body that is none is refused`(body: String) async throws {
        let host = await Host(FakeConference())
        #expect(try await host.ask(.post, Self.path, body: body).status == 400)
        #expect(!host.service.asked.contains { $0.hasPrefix("stream") })
    }

    @Test func `a stream says since when and why it is retried`() async throws {
        let host = await Host(FakeConference())
        let one = try await host.ask(.get, Self.path + "/str")
        #expect(one.json["state"] == "retrying" && one.json["attempts"] == 3)
        #expect(one.json["reason"] == "Connection refused" && one.json["since"] == "1970-01-01T00:01:00Z")
        #expect(try await host.ask(.get, Self.path + "/none").status == 404)
        let list = try await host.ask(.get, Self.path)
        guard case .array(let streams) = list.json else { Issue.record("no list"); return }
        #expect(streams == [one.json])
        #expect(try await host.ask(.delete, Self.path + "/str").status == 204)
        #expect(try await host.ask(.delete, Self.path + "/none").status == 404)
    }
}
