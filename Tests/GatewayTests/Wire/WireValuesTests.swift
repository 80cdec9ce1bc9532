import Conference
import RoomMedia
import Testing

@testable import Gateway

@Suite struct WireValuesTests {
    @Test func `statistics tell what of the participant's was not taken`() {
        var statistics = ParticipantStatistics()
        (statistics.faults[.overBudget], statistics.faults[.sources]) = (7, 3)
        let refused = statistics.json["refused"]
        #expect(refused?["overBudget"] == 7 && refused?["sources"] == 3 && refused?["replayed"] == 0)
    }

    @Test func `the document lists what is refused`() async throws {
        let document = try await Host().ask(.get, "/api/openapi.json").json
        let listed = document["components"]?["schemas"]?["Statistics"]?["properties"]?["refused"]?["properties"]
        for kind in PeerFaults.Kind.allCases { #expect(listed?["\(kind)"]?["type"] == "integer", "\(kind)") }
    }
}
