import Conference
import HTTPTypes
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct InputRouteTests {
    private let path = "/api/rooms/r/inputs"

    @Test func `an input is added, listed, read and deleted`() async throws {
        let host = await Host()
        let made = try await host.ask(
            .post, path, body: #"{"url":"srt://camera.example:9000?passphrase=x","name":"Camera","loop":true}"#)
        #expect(made.status == 201)
        #expect(made.json["id"] == "in" && made.json["state"] == "connecting" && made.json["participant"] == "p9")
        #expect(try await host.ask(.get, path).status == 200)
        #expect(try await host.ask(.get, path + "/in").json["url"] == "srt://camera.example:9000")
        #expect(try await host.ask(.get, path + "/none").status == 404)
        #expect(try await host.ask(.delete, path + "/in").status == 204)
        #expect(try await host.ask(.delete, path + "/none").json["error"]?["code"] == "input_not_found")
    }

    @Test(
        arguments: [
            #"{"name":"x"}"#, #"{"url":"a.mp4"}"#, #"{"url":5,"name":"x"}"#,
            #"{"url":"a.mp4","name":"x","loop":"yes"}"#,
            #"{"url":"a.mp4","name":"x","path":"/"}"#, #"{"url":"refused","name":"x"}"#,
        ])
    func `a body that says something else is refused`(body: String) async throws {
        let host = await Host()
        #expect(try await host.ask(.post, path, body: body).status == 400)
        #expect(try await host.ask(.post, "/api/rooms/none/inputs", body: #"{"url":"a","name":"x"}"#).status == 404)
    }
}
