import Foundation

/// What the operating system tells of this machine, this process and its threads. Linux only.
enum Machine {
    /// One line for under the tables.
    static var description: String {
        let processor = value(of: "model name", in: "/proc/cpuinfo") ?? "unknown processor"
        let kilobytes = value(of: "MemTotal", in: "/proc/meminfo").flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
        let kernel = text("/proc/sys/kernel/osrelease") ?? ""
        let load = text("/proc/loadavg")?.split(separator: " ").first.map(String.init) ?? "?"
        let cores = ProcessInfo.processInfo.processorCount
        return "\(cores) × \(processor), \((Double(kilobytes) / 1_048_576).formatted(.number.precision(.fractionLength(0)))) GB, "
            + "Linux \(kernel), load \(load) at the end; others had \((taken * 100).formatted(.number.precision(.fractionLength(1)))) % of its time"
    }

    /// Jiffies of all processors since boot, as /proc/stat has them: user, nice, system, idle, iowait, irq, softirq, steal (proc(5)).
    private static var jiffies: [Double] {
        text("/proc/stat")?.split(separator: "\n").first?.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) } ?? []
    }
    private static let jiffiesAtStart = jiffies

    /// To be called first: `taken` counts from here.
    static func begin() { _ = jiffiesAtStart }

    /// The part of the processors' time since `begin` that a host gave to other guests. No delay is to be trusted where it is more than a few per cent.
    static var taken: Double {
        let spent = zip(jiffies, jiffiesAtStart).map { $0 - $1 }
        guard spent.count == 8, spent.reduce(0, +) > 0 else { return 0 }
        return spent[7] / spent.reduce(0, +)
    }

    /// Resident memory of this process, in MB.
    static var memory: Double {
        Double(value(of: "VmRSS", in: "/proc/self/status").flatMap { Int($0.prefix { $0.isNumber }) } ?? 0) / 1024
    }

    /// Processor time of this process' living threads in seconds, added up by name (`work-0` and `work-1` are both `work`).
    static var threadTimes: [String: Double] {
        var times: [String: Double] = [:]
        for thread in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? [] {
            guard let name = text("/proc/self/task/\(thread)/comm"), let figures = text("/proc/self/task/\(thread)/schedstat"),
                let nanoseconds = figures.split(separator: " ").first.flatMap({ Double($0) })
            else { continue }
            times[name.split(separator: "-").first.map(String.init) ?? name, default: 0] += nanoseconds / 1e9
        }
        return times
    }

    private static func text(_ path: String) -> String? {
        (try? String(contentsOfFile: path, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func value(of key: String, in path: String) -> String? {
        text(path)?.split(separator: "\n").first { $0.hasPrefix(key) }?.split(separator: ":", maxSplits: 1).last
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
