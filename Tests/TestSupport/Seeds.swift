import Foundation

/// The seed that the environment's SIMULATION_SEED names: `scripts/test` prints it beside a failed simulation, which runs
/// with that seed alone then.
package let replayedSeed = ProcessInfo.processInfo.environment["SIMULATION_SEED"].flatMap { UInt64($0) }

/// The seeds that a parameterised test runs with: `seeds`, or `replayedSeed` alone. The parameter is called `seed`.
package func seeds(_ seeds: some Sequence<UInt64>) -> [UInt64] {
    replayedSeed.map { [$0] } ?? Array(seeds)
}
