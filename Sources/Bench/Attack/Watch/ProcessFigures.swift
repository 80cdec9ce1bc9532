import Foundation

/// What /proc says of another process.
struct ProcessFigures {
    let id: pid_t

    /// Resident memory in MB; 0 when it is gone.
    var memory: Double { kilobytes("VmRSS") / 1024 }
    /// The most that it was since `resetPeak`, or since its start where that is not allowed.
    var peak: Double { kilobytes("VmHWM") / 1024 }

    /// proc(5), clear_refs: 5 lets the peak begin anew.
    func resetPeak() { try? "5".write(toFile: "/proc/\(id)/clear_refs", atomically: false, encoding: .utf8) }

    var descriptors: Int { ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd")) ?? []).count }

    /// Processor time of living threads in seconds, added up by name without numbers.
    var threads: [String: Double] {
        var times: [String: Double] = [:]
        for thread in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")) ?? [] {
            guard let name = text("task/\(thread)/comm")?.trimmingCharacters(in: .whitespacesAndNewlines),
                let nanoseconds = text("task/\(thread)/schedstat")?.split(separator: " ").first.flatMap({ Double($0) })
            else { continue }
            let group = name.replacing(#/[-#\d]+$/#, with: "")
            times[group, default: 0] += nanoseconds / 1e9
        }
        return times
    }

    /// Processor time of the whole process in seconds, threads that ended included.
    var time: Double {
        guard let text = text("stat"), let end = text.lastIndex(of: ")") else { return 0 }
        let fields = text[text.index(after: end)...].split(separator: " ")
        // utime and stime are fields 14 and 15, the first behind the name is field 3 (proc(5)); in hundredths of a second on Linux.
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / 100
    }

    private func text(_ name: String) -> String? { try? String(contentsOfFile: "/proc/\(id)/\(name)", encoding: .utf8) }

    private func kilobytes(_ key: String) -> Double {
        let line = text("status")?.split(separator: "\n").first { $0.hasPrefix(key + ":") }
        return line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Double($0) } ?? 0
    }
}

/// How the machine's time was spent between two readings.
struct MachineTime {
    private let jiffies: [Double]

    static func now() -> MachineTime {
        let line = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8))?.split(separator: "\n").first ?? ""
        return MachineTime(jiffies: line.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) })
    }

    /// Parts of all processors' time since `earlier`: what a host gave to other guests, and what was busy, in seconds too.
    func since(_ earlier: MachineTime) -> (stolen: Double, busySeconds: Double, allSeconds: Double) {
        let spent = zip(jiffies, earlier.jiffies).map { $0 - $1 }
        let all = spent.reduce(0, +)
        guard spent.count == 8, all > 0 else { return (0, 0, 0) }
        return (spent[7] / all, (spent[0] + spent[1] + spent[2]) / 100, all / 100)
    }
}
