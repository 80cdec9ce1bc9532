import Foundation

/// A description of this machine from the operating system. Linux only.
enum Machine {
    /// One line for the text under the tables.
    static var description: String {
        let processor = value(of: "model name", in: "/proc/cpuinfo") ?? "unknown processor"
        let kilobytes = value(of: "MemTotal", in: "/proc/meminfo").flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
        let kernel = text("/proc/sys/kernel/osrelease") ?? ""
        let load = text("/proc/loadavg")?.split(separator: " ").first.map(String.init) ?? "?"
        let cores = ProcessInfo.processInfo.processorCount
        return
            "\(cores) × \(processor), \((Double(kilobytes) / 1_048_576).formatted(.number.precision(.fractionLength(0)))) GB, "
            + "Linux \(kernel), load \(load) at the end; others had \((taken * 100).formatted(.number.precision(.fractionLength(1)))) % of its time"
    }

    private static let start = MachineTime.now()

    /// To be called first: `taken` measures from this call on.
    static func begin() { _ = start }

    /// The part of the processors' time since `begin` that the host gave to other guests. Measured delays are
    /// unreliable where it is more than a few per cent.
    static var taken: Double { MachineTime.now().since(start).stolen }

    private static func text(_ path: String) -> String? {
        (try? String(contentsOfFile: path, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func value(of key: String, in path: String) -> String? {
        text(path)?.split(separator: "\n").first { $0.hasPrefix(key) }?.split(separator: ":", maxSplits: 1).last
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
