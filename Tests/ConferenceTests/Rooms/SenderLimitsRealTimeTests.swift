import Basics
import TestSupport
import Testing

@testable import Conference
@testable import RoomMedia

/// In real time, apart from suites that take all processors: on a late machine the governor asks for less, whoever is
/// large.
@Suite("What senders are asked for", .serialized)
struct SenderLimitsRealTimeTests {
    @Test("senders are asked for their largest tile in the views that somebody takes")
    func limits() async throws {
        try await withConference { conference in
            let people = try (0..<4).map { _ in
                var request = AdmittedJoin(room: "r", name: "Ann")
                request.view = "portrait"
                return try conference.join(request) { _ in }
            }
            func camera() -> SenderLimit? { conference.registry["r"]?.read { $0.limits[people[0].id]?.camera } ?? nil }
            #expect(await eventually { camera()?.height.map { $0 > 300 } ?? false })
            let upright = camera()?.rate ?? .zero
            try people[1].setLayout("single", scope: .me, pins: [people[0].id])
            #expect(await eventually { camera().map { $0.rate.bitsPerSecond > upright.bitsPerSecond } ?? false })
        }
    }
}
