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

    @Test("what the server does not get is told once, and again when it comes")
    func missing() throws {
        var people = RoomPeople(own: "a")
        func take(_ missing: String, _ other: String = "") throws -> [String] {
            let before = people
            _ = people.apply(
                try update(
                    #"{"type":"participants","viewers":0,"participants":[{"id":"a"\#(missing)},{"id":"b"\#(other)}]}"#))
            return people.missing(since: before)
        }
        #expect(try take("").isEmpty)
        #expect(try take("", #","missing":["audio"]"#).isEmpty, "it is somebody else's")
        #expect(
            try take(#","missing":["audio","video"]"#)
                == ["the server gets no audio from here", "the server gets no video from here"])
        #expect(try take(#","missing":["video"]"#) == ["the server gets audio from here again"])
        #expect(try take(#","missing":[7]"#) == ["the server gets video from here again"])
        #expect(try take(#","missing":"audio""#).isEmpty)
    }

    @Test("malformed lists give no people")
    func broken() throws {
        #expect(
            try update(#"{"type":"participants","participants":[7,{"name":"x"},{"id":"y"}],"viewers":"many"}"#)
                == .whole([.init(["id": "y"])].compactMap { $0 }, viewers: 0))
        #expect(
            try update(#"{"type":"participantsChanged"}"#) == .changes(joined: [], changed: [], left: [], viewers: 0))
    }

    @Test("a wait is one's own without people, and somebody else's with them")
    func waiting() {
        func message(_ text: String) -> SignallingClient.Message { .init(json: Data(text.utf8)) }
        #expect(message(#"{"type":"waiting"}"#) == .waiting)
        #expect(message(#"{"type":"waiting","people":[]}"#) == .other("waiting"))
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
