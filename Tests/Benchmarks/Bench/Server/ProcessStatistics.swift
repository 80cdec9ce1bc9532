import Foundation

/// Reads /proc of a process (proc(5)). All values are 0 or empty when it has ended; memory is in megabytes of 2^20
/// bytes.
struct ProcessStatistics: Sendable {
    let id: pid_t

    /// The statistics of the benchmark itself.
    static var own: ProcessStatistics { ProcessStatistics(id: getpid()) }

    /// Resident memory.
    var memory: Double { number("VmRSS", in: "status") / 1024 }
    /// The peak of resident memory since `resetPeak`, or since the start where that is not permitted.
    var peak: Double { number("VmHWM", in: "status") / 1024 }
    /// The proportional set size: shared pages count by the process's share.
    var proportionalMemory: Double { number("Pss", in: "smaps_rollup") / 1024 }
    /// Resident anonymous memory.
    var anonymousMemory: Double { number("Anonymous", in: "smaps_rollup") / 1024 }

    /// Resets the peak, by writing 5 to clear_refs.
    func resetPeak() { try? "5".write(toFile: "/proc/\(id)/clear_refs", atomically: false, encoding: .utf8) }

    var descriptors: Int { entries("fd").count }
    var threadCount: Int { Int(number("Threads", in: "status")) }

    /// The processor time of running threads in seconds, summed by name without numbers.
    var threads: [String: Double] {
        eachThread.reduce(into: [:]) { sums, thread in sums[Self.group(thread.key), default: 0] += thread.value }
    }

    /// The processor time of each thread, by name and number.
    var eachThread: [String: Double] {
        var times: [String: Double] = [:]
        for thread in entries("task") {
            guard let name = text("task/\(thread)/comm")?.trimmingCharacters(in: .whitespacesAndNewlines),
                let nanoseconds = text("task/\(thread)/schedstat")?.split(separator: " ").first.flatMap({ Double($0) })
            else { continue }
            times["\(name)-\(thread)"] = nanoseconds / 1e9
        }
        return times
    }

    /// A thread's name without its numbers.
    static func group(_ name: String) -> String { name.replacing(#/[-#\d]+$/#, with: "") }

    /// The processor time of the whole process in seconds, including threads that ended.
    var time: Double {
        // The second field is the name, which may contain any character.
        guard let text = text("stat"), let end = text.lastIndex(of: ")") else { return 0 }
        let fields = text[text.index(after: end)...].split(separator: " ")
        // utime and stime are fields 14 and 15, the first behind the name is field 3.
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private func text(_ name: String) -> String? { try? String(contentsOfFile: "/proc/\(id)/\(name)", encoding: .utf8) }

    private func entries(_ name: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/\(name)")) ?? []
    }

    /// The value of a line `Key:   123 kB`.
    private func number(_ key: String, in file: String) -> Double {
        let line = text(file)?.split(separator: "\n").first { $0.hasPrefix(key + ":") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? 0
    }
}
