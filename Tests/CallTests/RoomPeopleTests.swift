import Foundation
import Testing

@testable import Call

@Suite("Who is in the room")
struct RoomPeopleTests {
    private func news(_ text: String) throws -> RoomPeople.News {
        switch SignallingClient.Message(json: Data(text.utf8)) {
        case .joined(_, let news), .people(let news): news
        default: throw CallError("no news: \(text)")
        }
    }

    @Test("a list first, then what changes, in words")
    func follows() throws {
        var people = RoomPeople(own: "a")
        #expect(
            people.take(
                try news(
                    """
                    {"type":"joined","you":{"id":"a"},"viewers":3,
                     "participants":[{"id":"a","name":"Ada"},{"id":"b","name":"Bo"}]}
                    """
                ))
                == ["Bo is here", "3 viewers"])
        #expect(
            people.take(
                try news(
                    """
                    {"type":"participantsChanged","joined":[{"id":"c","name":"Cy"}],
                     "changed":[{"id":"a","name":"Ada L"}],"left":["b"],"viewers":1}
                    """
                ))
                == ["Cy is here", "Bo is gone", "1 viewer"])
        #expect(people.people.map(\.name) == ["Ada L", "Cy"])
        #expect(
            people.take(try news(#"{"type":"participantsChanged","joined":[],"changed":[],"left":[],"viewers":1}"#))
                .isEmpty)
        #expect(
            people.take(try news(#"{"type":"participants","participants":[{"id":"a","name":"Ada L"}],"viewers":1}"#))
                == ["Cy is gone"])
    }

    @Test("what is no list names nobody")
    func broken() throws {
        #expect(
            try news(#"{"type":"participants","participants":[7,{"name":"x"},{"id":"y"}],"viewers":"many"}"#)
                == .whole([.init(["id": "y"])].compactMap { $0 }, viewers: 0))
        #expect(try news(#"{"type":"participantsChanged"}"#) == .changes(joined: [], changed: [], left: [], viewers: 0))
    }
}
