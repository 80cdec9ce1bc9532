import Basics
import TestSupport
import Testing

@testable import Cluster

@Suite struct ClusterSimulationTests {
    /// A replayed schedule tells what happens in it.
    private static let schedules: UInt64 = 10_000

    @Test func `ten thousand schedules of faults keep the rules`() async {
        if let seed = replayedSeed {
            let violation = ClusterSimulation(seed: seed, isTold: true).run()
            #expect(violation == nil, "\(violation.map(String.init(describing:)) ?? "")")
            return
        }
        let parts = UInt64(2)
        let outcomes = await withTaskGroup(of: ([ClusterSimulation.Violation], Int).self) { group in
            for part in 0..<parts {
                group.addTask {
                    var (violations, losses): ([ClusterSimulation.Violation], Int) = ([], 0)
                    for seed in stride(from: part, to: Self.schedules, by: Int(parts)) {
                        let simulation = ClusterSimulation(seed: seed)
                        if let violation = simulation.run() { violations.append(violation) }
                        losses += simulation.losses
                    }
                    return (violations, losses)
                }
            }
            return await group.reduce(into: [([ClusterSimulation.Violation], Int)]()) { $0.append($1) }
        }
        let violations = outcomes.flatMap(\.0).sorted { $0.seed < $1.seed }
        #expect(
            violations.isEmpty,
            "\(violations.count) schedules, the first with seed = \(violations.first?.seed ?? 0): \(violations.prefix(5).map(\.description))"
        )
        #expect(outcomes.map(\.1).reduce(0, +) > 500, "the faults do end rooms")
    }
}
