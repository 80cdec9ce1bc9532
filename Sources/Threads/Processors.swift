import CThreads
import Glibc

/// The share of the machine's processors that this process may use.
public enum Processors {
    /// The processors in the affinity mask, or fewer where the control group's quota is smaller; at least 1.
    public static let available: Int = {
        let allowed = Int(threads_processors())
        return max(1, min(allowed, quota(Self.text(of: "/sys/fs/cgroup/cpu.max")) ?? allowed))
    }()

    /// The quota of a control group's `cpu.max` in whole processors, rounded up ("200000 100000": quota and period in
    /// microseconds); nil where it sets no limit ("max 100000") or cannot be parsed.
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
