import Basics
import Foundation
import Glibc
import Sockets

/// A real `tessera serve` on loopback with ports and folders of its own, as it is shipped but for what the attack needs.
final class ServerUnderTest {
    /// How it differs from the shipped settings.
    struct Shape: Hashable {
        /// RLIMIT_NOFILE, soft and hard.
        var descriptors: Int?
        /// Joins need a token of this secret.
        var secret: String?

        static let shipped = Shape()
    }

    let shape: Shape
    let http: SocketAddress
    let media: SocketAddress
    let directory: String
    let process: ChildProcess
    /// How many rows it has been through.
    var rows = 0

    var figures: ProcessFigures { ProcessFigures(id: process.id) }
    var isAlive: Bool { process.status == nil }

    init(program: String, scratch: String, shape: Shape) throws(WireError) {
        self.shape = shape
        http = try Self.freePort()
        media = try Self.freePort()
        directory = scratch + "/\(http.port)"
        try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        var yaml = "http: { listen: \"\(http)\" }\nmedia: { listen: \"\(media)\" }\nlayouts: { directory: \"\(directory)/layouts\" }\n"
        yaml += "recording: { directory: \"\(directory)/recordings\" }\n"
        if let secret = shape.secret { yaml += "auth: { mode: token, secret: \"\(secret)\" }\n" }
        let file = directory + "/tessera.yaml"
        do { try yaml.write(toFile: file, atomically: false, encoding: .utf8) } catch { throw WireError("write \(file): \(error)") }
        let limit = shape.descriptors.map { "ulimit -n \($0); " } ?? ""
        process = try ChildProcess(
            script: limit + #"exec "$@""#, arguments: [program, "serve", "--config", file, "--log-level", "warning"], log: directory + "/server.log")
        let end = MonotonicClock.now() + .seconds(20)
        while (try? HTTPWire(server: http, source: .loopback(0, 4)).request("GET", "/healthz", timeout: .seconds(1)))?.status != 200 {
            guard isAlive, MonotonicClock.now() < end else { throw WireError("the server does not come up (\(process.obituary)): \(logTail)") }
            usleep(50_000)
        }
    }

    deinit {
        process.kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// A port that is free for TCP and UDP, likely still so when it is bound.
    private static func freePort() throws(WireError) -> SocketAddress {
        for _ in 0..<50 {
            let candidate = try DatagramSocket(binding: .loopback(0, 1)).address
            let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(probe) }
            if candidate.withSystemForm({ bind(probe, $0, $1) }) == 0 { return candidate }
        }
        throw WireError("no free port")
    }

    /// Files that recordings have left.
    var files: Int {
        ((try? FileManager.default.subpathsOfDirectory(atPath: directory + "/recordings")) ?? []).count
    }

    /// What the server wrote last.
    var logTail: String {
        String((try? String(contentsOfFile: directory + "/server.log", encoding: .utf8))?.suffix(400) ?? "")
    }
}
