import ArgumentParser
import Gateway
import Inputs

/// The program: `tessera serve` and its tools.
@main
struct Tessera: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tessera",
        abstract: "A conference server that composes one picture and mixes one audio stream for each participant.",
        version: Gateway.version,
        subcommands: [
            ServeCommand.self, SettingsCommand.self, LayoutCommand.self, RecordingCommand.self, CallCommand.self,
            ClusterCommand.self, DiagnoseCommand.self, VersionCommand.self, SourceWorkerCommand.self,
        ])
}

struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Prints the version.")

    func run() { print("tessera \(Gateway.version)") }
}

/// The process that decodes one input. The server starts it.
struct SourceWorkerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "source-worker", abstract: "Decodes an input for the server.", shouldDisplay: false)

    func run() { SourceWorker.run() }
}
