import ArgumentParser
import FoundationEssentials
import Gateway
import Glibc
import Logging
import Settings

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Starts the server.",
        discussion: """
            Without any flag the server listens for everybody on this machine's addresses; the page opens at \
            http://localhost:8080. Other machines need HTTPS for camera and microphone: --http-tls-self-signed is enough \
            for a first call, a certificate (http.tls) is better.

            Settings come from built-in defaults, the file, environment variables (TESSERA_ and the key in capitals with _, \
            e.g. TESSERA_HTTP_LISTEN) and these flags; each outweighs those before it. "tessera settings" prints every key \
            with its default; Configuration.md of the sources says what each may be.

            SIGTERM or SIGINT closes recordings, tells everyone, and ends within 10 s.
            """)

    /// What the help shows.
    private static let defaults = ShownDefaults()

    @Option(help: ArgumentHelp("A YAML file with settings (default: none).", valueName: "file")) var config: String?
    @Option(
        help: ArgumentHelp(
            "The address and port for HTTP: page, API, signalling (default: \(ServeCommand.defaults.listen)).",
            valueName: "host:port")) var listen: String?
    @Option(
        help: ArgumentHelp(
            "The address and port for media, by UDP and TCP (default: \(ServeCommand.defaults.media)).",
            valueName: "host:port")) var media: String?
    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "An address to announce to clients instead of this machine's own (default: all of its own).",
            valueName: "address"))
    var announce: [String] = []
    @Flag(
        help:
            "HTTPS with a certificate that is made at the start: browsers warn of it, and go on when told to (default: HTTP)."
    )
    var httpTlsSelfSigned = false
    @Option(
        help: ArgumentHelp(
            "The folder of the layouts (default: \(ServeCommand.defaults.layouts), and those that are built in).",
            valueName: "dir")) var layouts: String?
    @Option(
        help: ArgumentHelp(
            "The folder of the recordings (default: \(ServeCommand.defaults.recordings)).", valueName: "dir"))
    var recordings: String?
    @Flag(
        inversion: .prefixedNo,
        help: "A QR code of the server's address in the terminal, where phones can make a call by it.")
    var qr = true
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
        add("--http-tls-self-signed", "http.tls.selfSigned", httpTlsSelfSigned ? "true" : nil)
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
            try await Gateway(settings, showsCode: qr, logger: Logger(label: "tessera")).run()
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
