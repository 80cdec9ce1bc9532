import CThreads
import Glibc

/// How much of the machine is this process's.
public enum Processors {
    /// The processors that the process may run on, or fewer where its control group gives it less time than theirs: at
    /// least 1.
    public static let available: Int = {
        let allowed = Int(threads_processors())
        return max(1, min(allowed, quota(Self.text(of: "/sys/fs/cgroup/cpu.max")) ?? allowed))
    }()

    /// Whole processors' worth of time in a control group's `cpu.max` ("200000 100000": quota and period in
    /// microseconds), rounded up; nil where it sets no limit ("max 100000") or cannot be read.
    static func quota(_ text: String) -> Int? {
        let fields = text.split(whereSeparator: \.isWhitespace)
        guard fields.count == 2, let quota = Int(fields[0]), let period = Int(fields[1]), quota > 0, period > 0 else {
            return nil
        }
        return (quota - 1) / period + 1
    }

    private static func text(of path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, Int32(line.count), file) != nil else { return "" }
        return String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
