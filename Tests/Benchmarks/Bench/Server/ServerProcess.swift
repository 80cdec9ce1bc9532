import Basics
import Foundation
import Glibc
import Threads

/// A `tessera serve` of the bench's own on free ports of loopback, as it is shipped but for what a run needs. Confined
/// to who started it, and killed when that lets go of it.
final class ServerProcess {
    let http: SocketAddress
    /// UDP and TCP.
    let media: SocketAddress
    /// What it wrote, for whoever looks for the reason of a fault.
    let logFile: String
    private let recordings: String
    private let process: ChildProcess

    var statistics: ProcessStatistics { process.statistics }
    var isAlive: Bool { process.status == nil }
    var obituary: String { process.obituary }

    /// Starts it and waits until it answers.
    ///
    /// - Parameters:
    ///   - program: the path of `tessera`.
    ///   - directory: where it runs; recordings, layouts and its log go there. Made if need be.
    ///   - arguments: more of `serve`.
    ///   - settings: environment variables, `TESSERA_…`; those of the bench itself do not count.
    ///   - descriptors: RLIMIT_NOFILE, soft and hard; nil: as the bench's.
    ///   - cores: the processors that it may run on; nil: as the bench.
    ///   - endsWithThread: it is killed when the calling thread ends, however that comes.
    init(
        program: String, directory: String, arguments: [String] = [], settings: [String: String] = [:],
        descriptors: Int? = nil,
        cores: [Int]? = nil,
        endsWithThread: Bool
    ) throws(WireError) {
        http = try Self.freePort()
        media = try Self.freePort()
        logFile = directory + "/server.log"
        recordings = directory + "/recordings"
        do { try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true) } catch {
            throw WireError("make \(directory): \(error)")
        }
        let serve = [
            URL(fileURLWithPath: program).path, "serve", "--listen", "\(http)", "--media", "\(media)", "--recordings",
            recordings,
        ]
        process = try ChildProcess(
            script: (descriptors.map { "ulimit -n \($0); " } ?? "") + #"exec "$@""#,
            arguments: (cores.map { ["taskset", "-c", Affinity.list($0)] } ?? []) + serve + arguments,
            environment: ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("TESSERA") }.merging(settings) {
                $1
            },
            directory: directory, log: logFile, endsWithThread: endsWithThread)
        let end = MonotonicClock.now() + .seconds(20)
        while (try? HTTPWire(server: http, source: .loopback(0, 4)).request("GET", "/healthz", timeout: .seconds(1)))?
            .status != 200
        {
            guard isAlive, MonotonicClock.now() < end else {
                throw WireError("the server does not come up (\(obituary)): \(logTail)")
            }
            usleep(50_000)
        }
    }

    /// Ends it as an operator would; returns its exit status or the signal that ended it, or nil when it had to be
    /// killed (the contract gives it 10 s).
    func stop() -> Int32? {
        process.terminate()
        let end = MonotonicClock.now() + .seconds(12)
        while isAlive {
            guard MonotonicClock.now() < end else {
                process.kill()
                return nil
            }
            usleep(100_000)
        }
        return process.exitStatus
    }

    /// Files that recordings have left.
    var files: Int { ((try? FileManager.default.subpathsOfDirectory(atPath: recordings)) ?? []).count }

    /// What the server wrote last.
    private var logTail: String { String((try? String(contentsOfFile: logFile, encoding: .utf8))?.suffix(400) ?? "") }

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
}
