import Foundation

/// What the operating system and the server's own metrics say about it at one moment.
struct ServerReading: Sendable {
    /// In megabytes of 2^20 bytes: resident, its proportional share, and what no file backs.
    var resident = 0.0
    var proportional = 0.0
    var anonymous = 0.0
    var descriptors = 0
    var threads = 0
    /// Processor time so far, in seconds.
    var processorTime = 0.0
    /// Every sample of `/metrics` whose value may go up and down, by name and labels. Without those of single rooms, whose names come and go.
    var gauges: [String: Double] = [:]
    /// The counters, likewise.
    var counters: [String: Double] = [:]

    /// - Parameter process: the server's id.
    init(process: Int32, metrics: String) {
        let status = Self.table("/proc/\(process)/status")
        let rollup = Self.table("/proc/\(process)/smaps_rollup")
        resident = (status["VmRSS"] ?? 0) / 1024
        proportional = (rollup["Pss"] ?? 0) / 1024
        anonymous = (rollup["Anonymous"] ?? 0) / 1024
        threads = Int(status["Threads"] ?? 0)
        descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count) ?? 0
        processorTime = Self.processorTime(of: process)
        parse(metrics)
    }

    /// `Name:   123 kB` lines as numbers.
    private static func table(_ path: String) -> [String: Double] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [:] }
        var result: [String: Double] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let value = parts[1].split(whereSeparator: \.isWhitespace).first.flatMap({ Double($0) }) else { continue }
            result[String(parts[0])] = value
        }
        return result
    }

    /// User and system time, fields 14 and 15 of proc(5)'s stat, in seconds; 0 where the process is gone.
    static func processorTime(of process: Int32) -> Double {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8), let end = text.lastIndex(of: ")") else { return 0 }
        // The second field is the name, which may hold anything.
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private mutating func parse(_ metrics: String) {
        var kinds: [Substring: Substring] = [:]
        for line in metrics.split(separator: "\n") {
            let words = line.split(separator: " ")
            if line.hasPrefix("# TYPE"), words.count == 4 { kinds[words[2]] = words[3] }
            guard !line.hasPrefix("#"), let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else { continue }
            let key = line[..<space]
            guard !key.contains("room=\"") else { continue }
            switch kinds[key.prefix { $0 != "{" }] {
            case "gauge": gauges[String(key)] = value
            case "counter": counters[String(key)] = value
            default: break
            }
        }
    }
}
