import Foundation

/// A `tessera serve` of the benchmark's own: free ports of loopback, a scratch directory, ended for sure.
final class ServerProcess: Sendable {
    let http: LoopbackHTTP
    /// UDP and TCP.
    let mediaPort: UInt16
    var identifier: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }
    /// What it wrote, for whoever looks for the reason of a fault.
    let logFile: String

    private let process = Process()

    /// - Parameters:
    ///   - program: the path of `tessera`.
    ///   - directory: where it runs; recordings and its log go there.
    ///   - layouts: the folder with the layouts.
    ///   - settings: environment variables, `TESSERA_…`.
    init(program: String, directory: String, layouts: String, settings: [String: String]) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        http = LoopbackHTTP(port: try Self.freePort())
        mediaPort = try Self.freePort()
        logFile = directory + "/server.log"
        _ = FileManager.default.createFile(atPath: logFile, contents: nil)
        guard let log = FileHandle(forWritingAtPath: logFile) else { throw BenchError("\(logFile) cannot be written") }
        process.executableURL = URL(fileURLWithPath: program)
        process.currentDirectoryURL = URL(fileURLWithPath: directory)
        process.arguments = [
            "serve", "--listen", "127.0.0.1:\(http.port)", "--media", "127.0.0.1:\(mediaPort)", "--announce", "127.0.0.1", "--layouts", layouts,
            "--recordings", directory + "/recordings",
        ]
        // Nobody's own settings decide about the measurement.
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("TESSERA") }.merging(settings) { $1 }
        process.standardOutput = log
        process.standardError = log
        process.standardInput = FileHandle.nullDevice
    }

    /// Starts it and waits until it answers.
    func start() async throws {
        try process.run()
        for _ in 0..<200 {
            if let answer = try? await http.request("GET", "/healthz"), answer.status == 200 { return }
            guard process.isRunning else { throw BenchError("the server ended with \(process.terminationStatus): see \(logFile)") }
            try await Task.sleep(for: .milliseconds(100))
        }
        process.terminate()
        throw BenchError("the server did not answer within 20 s: see \(logFile)")
    }

    /// Ends it as an operator would; returns its exit status, or nil when it had to be killed (the contract gives it 10 s).
    func stop() async -> Int32? {
        if process.isRunning { process.terminate() }
        for _ in 0..<120 {
            if !process.isRunning { return process.terminationStatus }
            // Also while the run is being cancelled: the server must be gone when the program ends.
            await withCheckedContinuation { continuation in
                DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) { continuation.resume() }
            }
        }
        kill(process.processIdentifier, SIGKILL)
        return nil
    }

    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1 }
        }
        guard descriptor >= 0, result == 0 else { throw BenchError("no free port on loopback") }
        return UInt16(bigEndian: address.sin_port)
    }
}
