import Basics
import Foundation
import Glibc
import Threads

/// A `tessera serve` on free ports of loopback, with the default settings apart from those of a run. Confined to its
/// owner, and killed in `deinit`.
final class ServerProcess {
    let http: SocketAddress
    /// The media port, UDP and TCP.
    let media: SocketAddress
    /// The path of its log.
    let logFile: String
    private let recordings: String
    private let process: ChildProcess

    var statistics: ProcessStatistics { process.statistics }
    var isAlive: Bool { process.status == nil }
    var obituary: String { process.obituary }

    /// Starts the server and waits until it answers.
    ///
    /// - Parameters:
    ///   - program: the path of `tessera`.
    ///   - directory: its working directory with recordings, layouts and its log; created if necessary.
    ///   - arguments: further arguments of `serve`.
    ///   - settings: environment variables `TESSERA_…`; those of the benchmark itself are not passed on.
    ///   - descriptors: RLIMIT_NOFILE, soft and hard; nil: as the bench's.
    ///   - cores: the processors on which it may run; nil for those of the benchmark.
    ///   - endsWithThread: whether it is killed when the calling thread ends, for whatever reason.
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

    /// Ends the server with SIGTERM. Returns its exit status or the signal that ended it, or nil when it had to be
    /// killed after the 10 s of the contract.
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

    /// The number of files in the recordings' directory.
    var files: Int { ((try? FileManager.default.subpathsOfDirectory(atPath: recordings)) ?? []).count }

    /// The last lines of the server's log.
    private var logTail: String { String((try? String(contentsOfFile: logFile, encoding: .utf8))?.suffix(400) ?? "") }

    /// A port that is free for TCP and UDP now, and probably still when it is bound.
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
