import Basics
import Conference
import HTTPTypes
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct BreakoutRouteTests {
    private let path = "/api/rooms/r/breakout"

    @Test func `the groups are read, made, changed and closed`() async throws {
        let host = await Host()
        let groups = try await host.ask(.get, path)
        #expect(groups.status == 200 && groups.json["state"] == "open" && groups.json["endsIn"] == 90)
        #expect(
            groups.json["groups"] == [["id": 1, "name": "Red", "people": 1, "participants": ["p1"], "listeners": []]])
        let made = try await host.ask(
            .put, path, body: #"{"groups":2,"fill":true,"places":{"p1":2},"open":true,"endsIn":600,"mayChoose":true}"#)
        #expect(made.status == 200)
        #expect(try await host.ask(.put, path, body: #"{"groups":["Red","Blue"]}"#).status == 200)
        let change = #"{"names":{"1":"Kitchen"},"places":{"p1":0},"endsIn":null,"countdown":30}"#
        #expect(try await host.ask(.patch, path, body: change).status == 200)
        #expect(try await host.ask(.delete, path).status == 204)
        let plan = { (names: [String], mayChoose: Bool) in
            "\(BreakoutRequest.make(BreakoutPlan(names: names, mayChoose: mayChoose)))"
        }
        #expect(
            host.service.asked == [
                plan(["Group 1", "Group 2"], true), "\(BreakoutRequest.assign(["p1": 2]))", "\(BreakoutRequest.fill)",
                "\(BreakoutRequest.open(endsIn: .seconds(600)))", plan(["Red", "Blue"], false),
                "\(BreakoutRequest.rename(1, "Kitchen"))", "\(BreakoutRequest.assign(["p1": 0]))",
                "\(BreakoutRequest.setEnd(in: nil))", "\(BreakoutRequest.callBack(.seconds(30)))",
                "\(BreakoutRequest.close)",
            ])
    }

    @Test(arguments: [
        "{}", #"{"groups":0}"#, #"{"groups":51}"#, #"{"groups":"two"}"#, #"{"groups":[1]}"#,
        #"{"groups":2,"endsIn":60}"#,
        #"{"groups":2,"places":{"p1":"1"}}"#, #"{"groups":2,"places":[]}"#, #"{"groups":2,"open":true,"endsIn":1e300}"#,
        #"{"groups":2,"x":1}"#,
    ])
    func `a plan that says something else is refused`(body: String) async throws {
        let host = await Host()
        #expect(try await host.ask(.put, path, body: body).status == 400)
    }

    @Test(arguments: [
        "{}", #"{"names":{"one":"x"}}"#, #"{"names":{"1":2}}"#, #"{"countdown":-1}"#, #"{"groups":2}"#,
        #"{"open":"yes"}"#,
    ])
    func `a change that says something else is refused`(body: String) async throws {
        let host = await Host()
        #expect(try await host.ask(.patch, path, body: body).status == 400)
    }
}
