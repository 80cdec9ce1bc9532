import ArgumentParser
import Foundation
import Scenarios

/// Calls over bad lines, in virtual time: the table that the README quotes.
struct NetworkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network", abstract: "Runs calls over simulated bad lines and prints what was seen and heard.")

    @Option(help: "What decides every loss and every frame's size: the first of the seeds.")
    var seed: UInt64 = 1

    @Option(help: "How many seeds each row runs with; medians are printed, and the worst in brackets.")
    var seeds: UInt64 = 5

    @Option(help: "Only the rows whose name contains this.")
    var only: String = ""

    @Flag(help: "Prints what the first shown member went through, seed by seed, instead of the table.")
    var trace = false

    func run() async throws {
        let rows = Scenario.all.filter { only.isEmpty || $0.name.contains(only) }
        guard !trace else {
            for row in rows { for seed in seed..<seed + max(seeds, 1) { print("\(row.name), seed \(seed)\n\(try row.run(seed: seed).trace)") } }
            return
        }
        let range = seed..<seed + max(seeds, 1)
        print("Medians of \(range.count) seeds, the worst in brackets.\n")
        print(
            try await networkTable(rows, seeds: range, atOnce: ProcessInfo.processInfo.activeProcessorCount) { progress in
                FileHandle.standardError.write(Data("… \(progress)\n".utf8))
            })
        if only.isEmpty { print(redundancyTable()) }
    }

    func validate() throws {
        guard seeds <= 1000, seed <= UInt64(Int64.max) else { throw ValidationError("--seeds is at most 1000.") }
    }
}
