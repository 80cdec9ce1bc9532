import ArgumentParser
import AsyncHTTPClient
import Basics
import Diagnosis
import FoundationEssentials
import Gateway
import Glibc
import NIOCore
import NIOHTTP1
import NIOSSL
import Settings
import Threads
import WebServer

/// One archive for a report of a fault: what this server is, how it is set, and what it says of itself.
struct DiagnoseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diagnose", abstract: "Makes one archive for a report of a fault, without secrets.",
        discussion: """
            The archive has the version, the settings without secrets, what the running server says of itself and of a \
            room, and the end of its log. It names people and rooms: look at it before you send it. Where no server \
            answers, it has the rest and says why.
            """)

    @Argument(help: "The room that the report is about.")
    var room: String?
    @Option(help: ArgumentHelp("The file of settings that the server was started with.", valueName: "file"))
    var config: String?
    @Option(help: ArgumentHelp("The server that is asked.", valueName: "url"))
    var url = "http://localhost:8080"
    @Option(
        help: ArgumentHelp(
            "The admin token (auth.adminToken); without it that of the environment, TESSERA_AUTH_ADMINTOKEN."))
    var token: String?
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The archive; without it tessera-report-TIME.tar in this folder.", valueName: "file"))
    var output: String?
    @Flag(help: "Keeps addresses whole; without it the last part of each is 0.")
    var addresses = false

    /// The most bytes of an answer and of the log, and the most time for an answer and for all.
    private static let answerBytes = 4 << 20
    private static let logBytes = 2 << 20
    private static let answerTime = Duration.seconds(5)
    private static let wholeTime = Duration.seconds(25)

    func run() async throws {
        let now = Date()
        let name = "tessera-report-" + now.formatted(.iso8601.timeSeparator(.omitted).dateSeparator(.omitted))
        let path = output ?? name + ".tar"
        let contents = await collect()
        var archive = TarArchive(time: Int(now.timeIntervalSince1970))
        for (file, bytes) in contents { archive.add("\(name)/\(file)", bytes) }
        do {
            try WholeFile.make(path, with: archive.bytes, mode: 0o600)
        } catch {
            let why = error.code == EEXIST ? "is there already: name another with --output" : error.description
            printError("\(path) \(why)")
            throw ExitCode(1)
        }
        for (file, bytes) in contents { print("\(file): \(bytes.count) bytes") }
        print("\(path) is complete. Look at it before you send it: it names people and rooms.")
    }

    // MARK: Contents

    private typealias Content = (file: String, bytes: [UInt8])

    private func collect() async -> [Content] {
        var contents: [Content] = [
            ("README.txt", Array(Self.readme(addresses).utf8)), ("version.txt", Array(Self.version.utf8)),
            ("settings.txt", Array(settings.utf8)), ("system.txt", Array(Self.system.utf8)),
        ]
        contents += await answers()
        contents.append(("log.txt", log()))
        return contents
    }

    private static func readme(_ keepsAddresses: Bool) -> String {
        """
        This archive was made by "tessera diagnose" for a report of a fault.

        It has names of people and rooms, and \(keepsAddresses ? "whole addresses" : "addresses without their last part").
        Secrets, tokens, PINs and the credentials of URLs are left out, as "(removed)"; so is every setting that is not known
        to be harmless. Look at it before you send it all the same: the log has what the server wrote.

        """
    }

    private static var version: String {
        var name = utsname()
        uname(&name)
        let kernel = withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let release = (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)) ?? ""
        return "tessera \(Gateway.version)\nLinux \(kernel)\n\(release)"
    }

    private var settings: String {
        let environment = ProcessInfo.processInfo.environment
        do throws(ConfigurationFaults) {
            let file = try ConfigurationLoader.File(path: config)
            let lines = RedactedSettings.lines(file: file, environment: environment)
            let origin = config == nil ? "# Of the environment alone: name the server's file with --config.\n" : ""
            return origin + lines.joined(separator: "\n") + "\n"
        } catch {
            return "# \(error.faults.map { "\($0.key): \($0.what)" }.joined(separator: "\n# "))\n"
        }
    }

    private static var system: String {
        let files = [
            "/proc/loadavg", "/proc/meminfo", "/proc/self/limits", "/proc/sys/net/core/rmem_max",
            "/proc/sys/net/core/wmem_max",
        ]
        let parts = files.map { file in
            "== \(file)\n" + ((try? String(contentsOfFile: file, encoding: .utf8)) ?? "cannot be read\n")
        }
        return "processors: \(ProcessInfo.processInfo.activeProcessorCount)\n" + parts.joined()
    }

    // MARK: The server

    private func answers() async -> [Content] {
        let base = url.hasSuffix("/") ? String(url.dropLast()) : url
        let host = URL(string: base)?.host ?? ""
        let isHere = ["localhost", "127.0.0.1", "::1"].contains(host)
        // The certificate of a server on this machine is often one that it has signed itself.
        var configuration = HTTPClient.Configuration(
            certificateVerification: isHere ? .none : .fullVerification, redirectConfiguration: .disallow)
        // A server that is not there is a finding.
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        defer { Task { try? await client.shutdown() } }
        var wanted = [
            ("health.json", "/readyz"), ("rooms.json", "/api/rooms"), ("cluster.json", "/api/cluster"),
            ("webhooks.json", "/api/webhooks"), ("metrics.txt", "/metrics"),
        ]
        let end = MonotonicClock.now() + Self.wholeTime
        var contents: [Content] = []
        if let room {
            let path = "/api/rooms/" + room.percentEncoded()
            wanted.append(("room.json", path))
            let answer = await Self.ask(client, base + path, token: bearer, until: end)
            for id in Self.participants(answer).prefix(50) {
                wanted.append(("participant-\(id).json", path + "/participants/\(id.percentEncoded())/stats"))
            }
        }
        for (file, path) in wanted {
            guard MonotonicClock.now() < end else {
                contents.append((file, Array("there was no time left for this\n".utf8)))
                continue
            }
            let answer = await Self.ask(client, base + path, token: bearer, until: end)
            contents.append((file, anonymous(answer, isJSON: file.hasSuffix(".json"))))
        }
        return contents
    }

    private var bearer: String { token ?? ProcessInfo.processInfo.environment["TESSERA_AUTH_ADMINTOKEN"] ?? "" }

    private static func participants(_ answer: Answer) -> [String] {
        guard case .body(let bytes) = answer,
            case .array(let people)? = try? JSON.decode(JSONValue.self, from: bytes)["participants"]
        else { return [] }
        return people.compactMap { if case .string(let id)? = $0["id"] { id } else { nil } }
    }

    private enum Answer: Sendable {
        case body([UInt8])
        case failure(String)
    }

    /// One deadline for the head and the body: a server may begin in time, and never end.
    private static func ask(
        _ client: HTTPClient, _ url: String, token: String, until end: Instant
    ) async -> Answer {
        var request = HTTPClientRequest(url: url)
        if !token.isEmpty { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        let answer = await atMost(min(answerTime, end - MonotonicClock.now())) { [request] () -> Answer in
            do {
                let response = try await client.execute(request, timeout: .seconds(5))
                let body = try await response.body.collect(upTo: answerBytes)
                let bytes = Array(body.readableBytesView)
                return response.status.code < 400 || response.status.code == 503
                    ? .body(bytes)
                    : .failure("\(response.status.code): \(String(decoding: bytes.prefix(1000), as: UTF8.self))")
            } catch is NIOTooManyBytesError {
                return .failure("the answer has more than \(answerBytes) bytes")
            } catch {
                return .failure("no answer; name a running server with --url (\(type(of: error)))")
            }
        }
        return answer ?? .failure("no whole answer within \(answerTime.inSeconds) s")
    }

    private func anonymous(_ answer: Answer, isJSON: Bool) -> [UInt8] {
        switch answer {
        case .failure(let why): return Array((why + "\n").utf8)
        case .body(let bytes):
            if isJSON, let value = try? JSON.decode(JSONValue.self, from: bytes) {
                return Anonymous.json(value, keepsAddresses: addresses).bytes
            }
            let text = String(decoding: bytes, as: UTF8.self)
            return Array((addresses ? text : Anonymous.maskAddresses(in: text)).utf8)
        }
    }

    // MARK: The log

    /// The end of the service's log, from the journal of systemd.
    private func log() -> [UInt8] {
        let without = "the journal of systemd has nothing of tessera.service that this user may read"
        let answer: Answer =
            Self.journal().map { $0.isEmpty ? .failure(without) : .body($0) } ?? .failure(without)
        if case .failure(let why) = answer {
            return Array("\(why): add the end of the server's log by hand, or run this as root\n".utf8)
        }
        return anonymous(answer, isJSON: false)
    }

    /// nil: there is no journal here.
    private static func journal() -> [UInt8]? {
        var template = Array("/tmp/tessera-report-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else { return nil }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            close(file)
            unlink(path)
        }
        // The shell redirects; the name is an argument, and no part of what it reads.
        let command = "journalctl --unit=tessera --no-pager --quiet --output=short-iso-precise --lines=20000 >\"$1\""
        let environment = ProcessInfo.processInfo.environment
        guard
            let outcome = try? ChildProcess.run(
                ["sh", "-c", command, "sh", path], environment: environment, input: [], limit: .seconds(10)),
            outcome.end == .exited(0), let text = try? Data(contentsOf: URL(filePath: path))
        else { return nil }
        return Array(text.suffix(logBytes))
    }
}
