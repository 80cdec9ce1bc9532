import ArgumentParser
import Foundation
import Scenarios

/// Runs calls over bad links in virtual time, and prints the table that the README quotes.
struct NetworkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network",
        abstract: "Runs calls over simulated bad links and prints the quality of video and audio.")

    @Option(help: "What decides every loss and every frame's size: the first of the seeds.")
    var seed: UInt64 = 1

    @Option(help: "How many seeds each row runs with; medians are printed, and the worst in brackets.")
    var seeds: UInt64 = 5

    @Option(help: "Only the rows whose name contains this.")
    var row = ""

    @Flag(help: "Instead of the table, what the first member of each call went through.")
    var trace = false

    func run() async throws {
        let range = seed..<seed + max(seeds, 1)
        let scenarios = Scenario.all.filter { row.isEmpty || $0.name.contains(row) }
        if trace {
            for scenario in scenarios {
                for seed in range {
                    let outcome = try scenario.run(seed: seed)
                    let verdict = scenario.verdict(outcome).map(\.what).joined(separator: ", ")
                    print("\(scenario.name), seed \(seed): \(verdict)\n\(outcome.trace)")
                }
            }
            return
        }
        print("Medians of \(range.count) seeds, the worst in brackets.\n")
        print(
            try await networkTable(scenarios, seeds: range, atOnce: ProcessInfo.processInfo.activeProcessorCount) {
                progress in
                FileHandle.standardError.write(Data("… \(progress)\n".utf8))
            })
        if row.isEmpty { print(redundancyTable() + "\n" + protectionTable()) }
    }

    func validate() throws {
        guard Scenario.all.contains(where: { row.isEmpty || $0.name.contains(row) }) else {
            let names = Scenario.all.map { "\"\($0.name)\"" }.joined(separator: ", ")
            throw ValidationError("No row's name contains \"\(row)\"; they are \(names).")
        }
        guard seeds <= 1000, seed <= UInt64(Int64.max) else { throw ValidationError("--seeds is at most 1000.") }
    }
}
