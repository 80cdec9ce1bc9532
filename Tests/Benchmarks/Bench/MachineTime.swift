import Foundation

/// The machine's processor times, to be compared with those of an earlier reading.
struct MachineTime: Sendable {
    /// Jiffies of all processors since boot from /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal
    /// (proc(5)).
    private let jiffies: [Double]

    static func now() -> MachineTime {
        let line = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8))?.split(separator: "\n").first ?? ""
        return MachineTime(jiffies: line.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) })
    }

    /// The part of all processors' time since `earlier` that the host gave to other guests, and the busy time in
    /// seconds.
    func since(_ earlier: MachineTime) -> (stolen: Double, busySeconds: Double, allSeconds: Double) {
        let spent = zip(jiffies, earlier.jiffies).map { $0 - $1 }
        let all = spent.reduce(0, +)
        guard spent.count == 8, all > 0 else { return (0, 0, 0) }
        let perSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
        return (spent[7] / all, (spent[0] + spent[1] + spent[2]) / perSecond, all / perSecond)
    }
}
