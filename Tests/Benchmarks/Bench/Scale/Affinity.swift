import Foundation

/// Which processors the bench itself runs on.
enum Affinity {
    /// All threads of this process, those to come included.
    static func set(_ cores: [Int]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
        process.arguments = ["-a", "-c", "-p", list(cores), "\(ProcessInfo.processInfo.processIdentifier)"]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchError("taskset \(list(cores)) failed") }
    }

    /// As `taskset -c` reads it.
    static func list(_ cores: [Int]) -> String { cores.map(String.init).joined(separator: ",") }
}
