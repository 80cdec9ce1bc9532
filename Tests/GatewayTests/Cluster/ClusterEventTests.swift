import AsyncHTTPClient
import Basics
import Foundation
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import Admission
@testable import Conference
@testable import Gateway
@testable import Settings
@testable import WebServer

/// The events of two nodes as one stream.
@Suite struct ClusterEventTests {
    /// A reader of `/api/events`.
    private final class Reader: Sendable {
        private let text = Guarded("")
        private let task: Task<Void, Never>

        init(_ node: TestNode, after last: String? = nil) {
            let text = text
            var request = HTTPClientRequest(url: node.url + "/api/events")
            if let last { request.headers.add(name: "last-event-id", value: last) }
            task = Task { [request] in
                guard let answer = try? await HTTPClient.shared.execute(request, timeout: .seconds(10)) else { return }
                do {
                    for try await part in answer.body { text.withLock { $0 += String(buffer: part) } }
                } catch {}
            }
        }

        var all: String { text.withLock { $0 } }
        /// The stream's ids.
        var ids: [String] {
            all.split(separator: "\n").filter { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) }
        }
        func count(_ part: String) -> Int { all.components(separatedBy: part).count - 1 }
        func end() { task.cancel() }
    }

    @Test func `a reader gets the events of all nodes, and continues at each`() async throws {
        let store = FakeStore()
        let a = try await TestNode("a", store, conference: FakeConference(hasEvents: true))
        let b = try await TestNode("b", store, conference: FakeConference(hasEvents: true))
        a.conference.state.withLock { $0.rooms = ["near"] }
        b.conference.state.withLock { $0.rooms = ["far"] }
        let reader = Reader(a)
        #expect(await eventually { reader.count(#""type":"reset""#) == 1 }, "\(reader.all)")
        #expect(reader.all.contains(#""id":"near""#) && reader.all.contains(#""id":"far""#), "one state of all")
        let event = ServerEvent.Happening.overloadChanged(.init(level: 2, refusesRooms: false))
        a.conference.events.publish(event, room: nil)
        b.conference.events.publish(event, room: nil)
        #expect(await eventually { reader.count("overload.changed") == 2 }, "\(reader.all)")
        let last = try #require(reader.ids.last)
        #expect(last.contains(a.conference.events.epoch) && last.contains(b.conference.events.epoch))
        reader.end()
        // Meanwhile one event of each; the reader comes again at the other node.
        a.conference.events.publish(event, room: nil)
        b.conference.events.publish(event, room: nil)
        let again = Reader(b, after: last)
        #expect(await eventually { again.count("overload.changed") == 2 }, "\(again.all)")
        #expect(again.count(#""type":"reset""#) == 0)
        again.end()
        a.conference.events.close()
        b.conference.events.close()
        await a.stop()
        await b.stop()
    }
}
