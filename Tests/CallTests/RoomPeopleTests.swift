import Foundation
import Testing

@testable import Call

@Suite("The people in a room")
struct RoomPeopleTests {
    private func update(_ text: String) throws -> RoomPeople.Update {
        switch SignallingClient.Message(json: Data(text.utf8)) {
        case .joined(_, _, let update), .people(let update): update
        default: throw CallError("not an update: \(text)")
        }
    }

    @Test("a list and its changes are described in words")
    func follows() throws {
        var people = RoomPeople(own: "a")
        #expect(
            people.apply(
                try update(
                    """
                    {"type":"joined","you":{"id":"a"},"viewers":3,
                     "participants":[{"id":"a","name":"Ada"},{"id":"b","name":"Bo"}]}
                    """
                ))
                == ["Bo is here", "3 viewers"])
        #expect(
            people.apply(
                try update(
                    """
                    {"type":"participantsChanged","joined":[{"id":"c","name":"Cy"}],
                     "changed":[{"id":"a","name":"Ada L"}],"left":["b"],"viewers":1}
                    """
                ))
                == ["Cy is here", "Bo is gone", "1 viewer"])
        #expect(people.people.map(\.name) == ["Ada L", "Cy"])
        #expect(
            people.apply(try update(#"{"type":"participantsChanged","joined":[],"changed":[],"left":[],"viewers":1}"#))
                .isEmpty)
        #expect(
            people.apply(try update(#"{"type":"participants","participants":[{"id":"a","name":"Ada L"}],"viewers":1}"#))
                == ["Cy is gone"])
    }

    @Test("malformed lists give no people")
    func broken() throws {
        #expect(
            try update(#"{"type":"participants","participants":[7,{"name":"x"},{"id":"y"}],"viewers":"many"}"#)
                == .whole([.init(["id": "y"])].compactMap { $0 }, viewers: 0))
        #expect(
            try update(#"{"type":"participantsChanged"}"#) == .changes(joined: [], changed: [], left: [], viewers: 0))
    }

    @Test(
        "the time of a move is read within bounds",
        arguments: [("10", 10), ("9.5", 9), ("0", 1), ("-1e300", 1), ("1e300", 3600), (#""soon""#, 1)])
    func moving(within: String, seconds: Int) {
        #expect(
            SignallingClient.Message(json: Data(#"{"type":"moving","within":\#(within)}"#.utf8))
                == .moving(within: seconds))
    }
}
