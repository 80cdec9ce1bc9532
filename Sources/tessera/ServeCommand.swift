import ArgumentParser
import FoundationEssentials
import Gateway
import Glibc
import Logging

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Starts the server.",
        discussion: """
            Settings come from built-in defaults, the file, environment variables (TESSERA_ and the key in capitals with _, \
            e.g. TESSERA_HTTP_LISTEN) and these flags; each outweighs those before it. \
            SIGTERM or SIGINT closes recordings, tells everyone, and ends within 10 s.
            """)

    @Option(help: ArgumentHelp("A YAML file with settings.", valueName: "file")) var config: String?
    @Option(help: ArgumentHelp("The address and port for HTTP.", valueName: "host:port")) var listen: String?
    @Option(help: ArgumentHelp("The address and port for media, by UDP and TCP.", valueName: "host:port")) var media:
        String?
    @Option(
        parsing: .singleValue,
        help: ArgumentHelp("An address to announce to clients instead of this machine's own.", valueName: "address"))
    var announce: [String] = []
    @Option(help: ArgumentHelp("The folder of the layouts.", valueName: "dir")) var layouts: String?
    @Option(help: ArgumentHelp("The folder of the recordings.", valueName: "dir")) var recordings: String?
    @Option(help: ArgumentHelp("trace, debug, info, notice, warning, error or critical.", valueName: "level"))
    var logLevel = "info"

    private var flags: [ConfigurationLoader.Flag] {
        var flags: [ConfigurationLoader.Flag] = []
        func add(_ name: String, _ path: String, _ value: String?) {
            if let value { flags.append(ConfigurationLoader.Flag(name: name, path: path, values: [value])) }
        }
        add("--listen", "http.listen", listen)
        add("--media", "media.listen", media)
        add("--layouts", "layouts.directory", layouts)
        add("--recordings", "recording.directory", recordings)
        if !announce.isEmpty {
            flags.append(ConfigurationLoader.Flag(name: "--announce", path: "media.announce", values: announce))
        }
        return flags
    }

    func run() async throws {
        do {
            let level = try readLevel()
            let settings = try ConfigurationLoader.load(
                file: try ConfigurationLoader.File(path: config), environment: ProcessInfo.processInfo.environment,
                flags: flags)
            LoggingSystem.bootstrap { label in
                var handler = StreamLogHandler.standardError(label: label)
                handler.logLevel = level
                return handler
            }
            try await Gateway(settings, logger: Logger(label: "tessera")).run()
        } catch let faults as ConfigurationFaults {
            for fault in faults.faults { printError("tessera: \(fault)") }
            throw ExitCode(ConfigurationFaults.exitStatus)
        }
    }

    private func readLevel() throws(ConfigurationFaults) -> Logger.Level {
        if let level = Logger.Level(rawValue: logLevel.lowercased()) { return level }
        let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        throw ConfigurationFaults([
            ConfigurationFault(key: "--log-level", value: logLevel, what: "not allowed; allowed is " + levels)
        ])
    }
}

/// One line to standard error.
func printError(_ line: String) {
    write(line, to: STDERR_FILENO)
}

/// Writes a line at once, whatever the other end is.
func write(_ line: String, to descriptor: Int32) {
    var rest = Array((line + "\n").utf8)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 || count < 0 && errno == EINTR else { return }
        rest = rest.dropFirst(max(0, count))
    }
}
