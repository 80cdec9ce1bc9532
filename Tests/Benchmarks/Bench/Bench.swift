import ArgumentParser

/// The benchmarks that the README quotes: `./scripts/bench` runs this program, which prints Markdown tables.
@main
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures Tessera and prints tables in Markdown.",
        discussion: "`--network`, `--attack` and `--scale` are short for the subcommands; without one it is `rooms`.",
        subcommands: [
            RoomsCommand.self, NetworkCommand.self, RelayCommand.self, AttackCommand.self, BystanderCommand.self,
            SoakCommand.self,
            ScaleCommand.self,
            ViewersCommand.self, DriftCommand.self, CodecsCommand.self,
        ], defaultSubcommand: RoomsCommand.self)

    static func main() async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        for command in ["network", "attack", "scale"] {
            guard let flag = arguments.firstIndex(of: "--" + command) else { continue }
            arguments.remove(at: flag)
            arguments.insert(command, at: 0)
        }
        await main(arguments)
    }
}
