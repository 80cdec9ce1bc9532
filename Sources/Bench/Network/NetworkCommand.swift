import ArgumentParser
import Scenarios

/// Calls over bad lines, in virtual time: the table that the README quotes.
struct NetworkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network", abstract: "Runs calls over simulated bad lines and prints what was seen and heard.")

    @Option(help: "What decides every loss and every frame's size.")
    var seed: UInt64 = 1

    func run() throws {
        print(try networkTable(seed: seed) { print("… \($0)") })
        print(redundancyTable())
    }
}
