import Basics
import Foundation
import HTTPTypes
import Testing

@testable import Admission
@testable import Conference
@testable import Gateway
@testable import Management
@testable import Settings
@testable import WebServer

/// Streams of server-sent events, over routes without a socket.
@Suite struct EventStreamTests {
    /// One event as a reader of the stream gets it.
    private struct Received {
        var id: String
        var data: JSONValue
        var type: JSONValue? { data["type"] }
    }

    private static func events(_ answer: Answer) -> [Received] {
        String(decoding: answer.body, as: UTF8.self).components(separatedBy: "\n\n").compactMap { block in
            let lines = block.split(separator: "\n")
            guard lines.count == 2, lines[0].hasPrefix("id: "), lines[1].hasPrefix("data: ") else { return nil }
            let json = (try? JSON.decode(JSONValue.self, from: Array(lines[1].dropFirst(6).utf8))) ?? .null
            return Received(id: String(lines[0].dropFirst(4)), data: json)
        }
    }

    private static let joined = ServerEvent.Happening.participantJoined(FakeConference.anna)

    /// A host whose bus has three events, and has ended.
    private func host(
        _ change: (inout TesseraConfiguration) -> Void = { _ in }
    ) async -> Host {
        let service = FakeConference(hasEvents: true)
        service.events.publish(Self.joined, room: "r")
        service.events.publish(.overloadChanged(.init(level: 2, refusesRooms: false)), room: nil)
        service.events.publish(Self.joined, room: "closed", isPrivate: true)
        service.events.close()
        return await Host(service, change: change)
    }

    private func lastEventID(_ text: String) throws -> HTTPFields {
        [try #require(HTTPField.Name("Last-Event-ID")): text]
    }

    @Test func `a new reader gets what exists, one that continues what it missed`() async throws {
        let host = await host()
        let epoch = host.service.events.epoch
        let new = try await host.ask(.get, "/api/events")
        #expect(new.status == 200 && new.headers[.contentType] == "text/event-stream")
        #expect(new.headers[.cacheControl] == "no-store")
        #expect(String(decoding: new.body, as: UTF8.self).hasPrefix("retry: 2000\n\n"))
        let reset = Self.events(new)
        #expect(reset.count == 1 && reset[0].type == "reset" && reset[0].id == "\(epoch)-3")
        #expect(reset[0].data["data"]?["rooms"] == [try #require(host.service.room("r")).summary])

        let back = Self.events(try await host.ask(.get, "/api/events", try lastEventID("\(epoch)-1")))
        #expect(back.map(\.id) == ["\(epoch)-2", "\(epoch)-3"])
        #expect(back.first?.data["data"] == ["level": 2, "refusesRooms": false] && back.first?.data["room"] == .null)
        #expect(back.last?.data["data"]?["name"] == "Anna" && back.last?.data["room"] == "closed")
        let all = Self.events(try await host.ask(.get, "/api/events", try lastEventID("\(epoch)-0")))
        #expect(all.map(\.data).map { $0["sequence"] } == [1, 2, 3])
    }

    @Test(arguments: ["other-1", "", "x", "-", "-1", "a-b-1", String(repeating: "9", count: 1000)])
    func `an id of another run, or none at all, gets what exists`(id: String) async throws {
        let host = await host()
        #expect(Self.events(try await host.ask(.get, "/api/events", try lastEventID(id))).map(\.type) == ["reset"])
        let ahead = try lastEventID("\(host.service.events.epoch)-\(Int.max)")
        #expect(Self.events(try await host.ask(.get, "/api/events", ahead)).map(\.type) == ["reset"])
    }

    @Test func `a reader chooses types and room`() async throws {
        let host = await host()
        let from = try lastEventID("\(host.service.events.epoch)-0")
        func types(_ query: String) async throws -> [JSONValue?] {
            Self.events(try await host.ask(.get, "/api/events?\(query)", from)).map(\.type)
        }
        #expect(try await types("types=overload.changed") == ["overload.changed"])
        #expect(try await types("types=participant.*") == ["participant.joined", "participant.joined"])
        #expect(try await types("types=room.ended,participant.joined&room=r") == ["participant.joined"])
        #expect(try await types("room=nobody") == [])
        for wrong in ["types=all", "types=participant.", "types=.*", "types=Chat", "room=a%2Fb", "types=reset"] {
            let answer = try await host.ask(.get, "/api/events?\(wrong)")
            #expect(answer.status == 400 && answer.code == "bad_request", "\(wrong)")
        }
    }

    @Test func `outsiders do not see who is in a private room`() async throws {
        let host = await host { $0.auth.adminToken = "the administrator" }
        let from = try lastEventID("\(host.service.events.epoch)-0")
        let outside = Self.events(try await host.ask(.get, "/api/events", from, from: "203.0.113.9"))
        #expect(outside.map(\.data).map { $0["sequence"] } == [1, 2])
        var admin = from
        admin[.authorization] = "Bearer the administrator"
        #expect(Self.events(try await host.ask(.get, "/api/events", admin, from: "203.0.113.9")).count == 3)
        let room = Self.events(try await host.ask(.get, "/api/rooms/closed/events", from, from: "203.0.113.9"))
        #expect(room.isEmpty)
        var seat = from
        seat[.authorization] = "Bearer p2.s"
        #expect(Self.events(try await host.ask(.get, "/api/rooms/r/events", seat)).count == 1)
    }

    @Test func `an address has so many readers, and a place is free again when one ends`() async throws {
        let host = await host()
        let places = EventReaders.places()
        var held = (0..<EventReaders.perAddress).compactMap { _ in places.take(.v4(1)) }
        #expect(held.count == EventReaders.perAddress && places.take(.v4(1)) == nil && places.take(.v4(2)) != nil)
        held.removeLast()
        #expect(places.take(.v4(1)) != nil)
        for _ in 0...EventReaders.perAddress { #expect(try await host.ask(.get, "/api/events").status == 200) }
    }

    @Test func `every type has a description and an example of its own form`() async throws {
        let document = try await Host().ask(.get, "/api/openapi.json").json
        #expect(
            ServerEvent.examples.map(\.happening.kind.rawValue).sorted()
                == ServerEvent.Kind.allCases.map(\.rawValue).sorted())
        for event in ServerEvent.examples {
            let kind = event.happening.kind.rawValue
            let content = document["webhooks"]?[kind]?["post"]?["requestBody"]?["content"]?["application/json"]
            let example = try #require(content?["example"], "\(kind)")
            // Both read again, since 1.0 is written as 1.
            #expect(example == (try JSON.decode(JSONValue.self, from: event.json("k3v7m2xq").bytes)), "\(kind)")
            let described = properties(content?["schema"], document)
            guard case .object(let data)? = example["data"] else { Issue.record("\(kind)"); return }
            #expect(Set(data.keys).isSubset(of: described), "\(kind): \(data.keys)")
        }
    }

    /// The names of the properties that `data` has by the schema of an event.
    private func properties(_ schema: JSONValue?, _ document: JSONValue) -> Set<String> {
        guard case .array(let parts)? = schema?["allOf"] else { return [] }
        func names(_ schema: JSONValue?) -> Set<String> {
            if case .string(let reference)? = schema?["$ref"] {
                return names(document["components"]?["schemas"]?[String(reference.split(separator: "/").last ?? "")])
            }
            if case .array(let parts)? = schema?["allOf"] { return parts.map(names).reduce([]) { $0.union($1) } }
            if case .object(let members)? = schema?["properties"] { return Set(members.keys) }
            return []
        }
        return names(parts.last?["properties"]?["data"])
    }
}
