import Conference
import HTTPTypes
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct WaitingRouteTests {
    private let path = "/api/rooms/r/waiting"

    @Test func `those who wait are listed, and let in or refused`() async throws {
        let host = await Host()
        let list = try await host.ask(.get, path)
        #expect(list.status == 200 && list.json == [["id": "w1", "name": "Dee"]])
        for decision in WaitingDecision.allCases {
            let answer = try await host.ask(.post, path + "/w1", body: #"{"decision":"\#(decision.rawValue)"}"#)
            #expect(answer.status == 204)
        }
        #expect(try await host.ask(.post, path + "/w2", body: #"{"decision":"admit"}"#).status == 404)
    }

    @Test(arguments: ["{}", #"{"decision":"hang"}"#, #"{"decision":5}"#, #"{"decision":"admit","x":1}"#])
    func `a body that says something else is refused`(body: String) async throws {
        let host = await Host()
        #expect(try await host.ask(.post, path + "/w1", body: body).status == 400)
    }
}
