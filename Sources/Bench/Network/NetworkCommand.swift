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

    func run() async throws {
        let range = seed..<seed + max(seeds, 1)
        print("Medians of \(range.count) seeds, the worst in brackets.\n")
        print(
            try await networkTable(seeds: range, atOnce: ProcessInfo.processInfo.activeProcessorCount) { progress in
                FileHandle.standardError.write(Data("… \(progress)\n".utf8))
            })
        print(redundancyTable())
    }

    func validate() throws {
        guard seeds <= 1000, seed <= UInt64(Int64.max) else { throw ValidationError("--seeds is at most 1000.") }
    }
}
