import Recording
import Simulation
import Testing

@testable import Bench

/// Half a minute of what `bench drift` runs for an hour; with a drift that makes 18 ms in that time.
@Suite("Drifting clocks", .timeLimit(.minutes(2)))
struct DriftTests {
    @Test(
        "the recording of a sender whose clock drifts keeps sound and picture together", arguments: [600e-6, -600e-6])
    func drift(drift: Double) async throws {
        let sync = try await DriftCommand.measure(
            drift: drift, for: .seconds(30), over: LinkConditions(delay: .milliseconds(20), jitter: .milliseconds(5)),
            seed: 3)
        #expect(sync.pairs >= 13 && abs(sync.offset) < 0.04 && abs(sync.atEnd) < 0.04, "\(sync)")
    }
}
