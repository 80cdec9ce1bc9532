import Conference
import HTTPTypes
import Testing

@testable import Admission
@testable import Gateway
@testable import RoomMedia
@testable import Settings
@testable import WebServer

@Suite struct WireValuesTests {
    @Test func `statistics have the participant's refused packets`() {
        var statistics = ParticipantStatistics()
        (statistics.faults[.overBudget], statistics.faults[.sources]) = (7, 3)
        statistics.renditionReason = LinkReason(.linkWorse, "The line.")
        #expect(
            statistics.json["renditionReason"] == "The line." && statistics.json["renditionReasonCode"] == "line_worse")
        let refused = statistics.json["refused"]
        #expect(refused?["overBudget"] == 7 && refused?["sources"] == 3 && refused?["replayed"] == 0)
    }

    @Test func `encoded values decode to the same`() throws {
        let text = "\u{0}\u{1}\u{1F}\"\\/\n\r\t\u{7F}é\u{2028}👩\u{200D}👧"
        let value: JSONValue = [
            "text": .string(text), text: "key",
            "numbers": [0, -7, 1.5, 0.1, 1e300, -1e-9, .integer(.max), .number(42)],
            "others": [.null, true, false, [:], []],
        ]
        let read = try JSON.decode(JSONValue.self, from: value.bytes)
        #expect(read["text"] == .string(text) && read[text] == "key" && read["others"] == value["others"])
        #expect(read["numbers"] == [0, -7, 1.5, 0.1, 1e300, -1e-9, .integer(.max), 42])
        #expect(JSONValue.array([.number(.nan), .number(.infinity)]).bytes == Array("[null,null]".utf8))
        #expect(JSONValue.object(["b": 1, "a": "/"]).bytes == Array(#"{"a":"/","b":1}"#.utf8), "by their names")
    }

    @Test func `the document lists the kinds of faults`() async throws {
        let document = try await Host().ask(.get, "/api/openapi.json").json
        let listed = document["components"]?["schemas"]?["Statistics"]?["properties"]?["refused"]?["properties"]
        for kind in PeerFaults.Kind.allCases { #expect(listed?["\(kind)"]?["type"] == "integer", "\(kind)") }
    }
}
