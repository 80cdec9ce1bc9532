import ArgumentParser
import Foundation

/// `bench soak`: hours of calls that begin and end, and whether the server releases the resources that they took.
struct SoakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak", abstract: "Lets people come and go for a long time and watches what the server holds.",
        discussion: """
            A server of its own on loopback. Every ten seconds its memory, descriptors, threads and tables are logged, and how far apart lips and \
            voice are for two callers who stay. Memory is judged from the tenth minute on, so a run that is to say something lasts half an hour.
            """)

    @Argument(help: "How long.")
    var minutes: Double

    @Option(help: "How many people come and go, beside the two who stay.")
    var people = 16

    @Option(help: "What decides who does what and when.")
    var seed: UInt64 = 1

    @Option(help: ArgumentHelp("The server's program.", valueName: "tessera"))
    var server: String

    @Option(help: ArgumentHelp("The folder with the layouts.", valueName: "dir"))
    var layouts = "layouts"

    @Option(help: ArgumentHelp("Where log, table, plot and recordings go.", valueName: "dir"))
    var output: String

    func validate() throws {
        guard minutes >= 1, minutes <= 10_000 else { throw ValidationError("1 to 10000 minutes") }
        guard (1...60).contains(people) else { throw ValidationError("--people \(people): 1 to 60") }
    }

    func run() async throws {
        func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }
        let run = SoakRun(
            minutes: minutes, people: people, seed: seed, program: absolute(server), layouts: absolute(layouts),
            directory: absolute(output))
        let task = Task { try await run.run() }
        // An interrupt prints the table of the run so far, and leaves no server behind.
        let signals = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { task.cancel() }
            source.resume()
            return source
        }
        defer { for source in signals { source.cancel() } }
        guard try await task.value else { throw ExitCode(1) }
    }
}
