import ArgumentParser

/// What the README quotes: `./scripts/bench` runs it and prints Markdown tables.
@main
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures Tessera and prints tables in Markdown.",
        discussion: "`--network` is short for the subcommand `network`; without a subcommand it is `rooms`.",
        subcommands: [RoomsCommand.self, NetworkCommand.self, RelayCommand.self, SoakCommand.self], defaultSubcommand: RoomsCommand.self)

    static func main() async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        if let flag = arguments.firstIndex(of: "--network") {
            arguments.remove(at: flag)
            arguments.insert("network", at: 0)
        }
        await main(arguments)
    }
}
