import Foundation

/// The processors on which the benchmark itself runs.
enum Affinity {
    /// Sets the processors of all threads of this process, including later ones.
    static func set(_ cores: [Int]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
        process.arguments = ["-a", "-c", "-p", list(cores), "\(ProcessInfo.processInfo.processIdentifier)"]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchError("taskset \(list(cores)) failed") }
    }

    /// The list in the syntax of `taskset -c`.
    static func list(_ cores: [Int]) -> String { cores.map(String.init).joined(separator: ",") }
}
