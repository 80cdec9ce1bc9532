import Foundation

/// Whether a run met its aims. All cycles have the same load, so equal times of the cycles are compared.
struct SoakVerdict {
    struct Line: Equatable {
        var what: String
        var first: String
        var last: String
        var limit: String
        /// Whether the aim was met; nil where the run was too short.
        var holds: Bool?
    }

    /// The seconds at the start that are not judged, because pools fill and code pages are loaded.
    static let warmUp = 600.0
    /// The growth of memory after the warm-up that still counts as constant.
    static let memoryGrowth = 0.05
    /// The limit of the median offset of each interval, in milliseconds.
    static let offsetLimit = 40.0
    /// The cycles of one window, ten minutes, so that single readings do not decide: the memory in the allocator's
    /// arenas at a quiet time differs by 5 MB from one cycle to the next.
    private static let window = 5
    /// The tolerance of descriptors, threads and table entries at a quiet time; a request may be in progress while they
    /// are counted.
    private static let slack = 2.0

    private(set) var lines: [Line] = []
    var holds: Bool { lines.allSatisfy { $0.holds ?? true } }

    init(_ samples: [SoakSample], faults: Int, exitStatus: Int32?) {
        let end = samples.last?.time ?? 0
        let start = min(Self.warmUp, end / 3)
        let perCycle = Int(SoakPlan.length / SoakSample.interval)
        let cycles = Dictionary(grouping: samples) { $0.cycle }.sorted { $0.key < $1.key }.map(\.value)
            .filter { $0.count == perCycle && ($0.first?.time ?? 0) > start }
        lines.append(Self.memory("resident memory over a cycle, median, MB", cycles) { $0.map(\.server.resident) })
        lines.append(Self.memory("memory of no file over a cycle, median, MB", cycles) { $0.map(\.server.anonymous) })
        lines.append(
            Self.memory("resident memory with the pair alone, MB", cycles) {
                $0.filter(\.isQuiet).map(\.server.resident)
            })
        lines.append(Self.table("descriptors", cycles) { Double($0.server.descriptors) })
        lines.append(Self.table("threads", cycles) { Double($0.server.threads) })
        for name in Self.tables(in: samples) { lines.append(Self.table(name, cycles) { $0.gauge(name) }) }
        lines.append(Self.lips(samples))
        lines.append(Line(what: "things that went wrong", first: "", last: "\(faults)", limit: "0", holds: faults == 0))
        lines.append(
            Line(
                what: "the server's exit status", first: "", last: exitStatus.map { "\($0)" } ?? "killed", limit: "0",
                holds: exitStatus == 0))
    }

    /// The gauges that count resources of the server; without those of times, limits, peaks, and of the disk, which the
    /// run fills with recordings.
    private static func tables(in samples: [SoakSample]) -> [String] {
        (samples.last?.server.metrics.gauges.keys.sorted() ?? []).filter { name in
            ![
                "_seconds", "_peak", "_level", "_limit", "_bytes_per", "_cache_", "_disk_", "_recordings_known",
                "tessera_limit{",
            ].contains { name.contains($0) }
        }
    }

    private static func memory(_ what: String, _ cycles: [[SoakSample]], _ values: ([SoakSample]) -> [Double]) -> Line {
        let medians = cycles.map { Statistics.median(values($0)) }
        guard let (first, rest) = windows(medians), let worst = rest.max(), let last = rest.last else {
            return Line(what: what, first: medians.first.map { number($0) } ?? "", last: "", limit: "", holds: nil)
        }
        let growth = first > 0 ? worst / first - 1 : 0
        return Line(
            what: what, first: number(first), last: "\(number(last)) (highest \(number(worst)), \(percent(growth)))",
            limit: percent(memoryGrowth), holds: growth <= memoryGrowth)
    }

    private static func table(_ what: String, _ cycles: [[SoakSample]], _ value: (SoakSample) -> Double) -> Line {
        let quiet = cycles.map { cycle in cycle.filter(\.isQuiet).map(value).min() ?? 0 }
        let highest = cycles.flatMap { $0.map(value) }.max() ?? 0
        guard let (first, rest) = windows(quiet), let last = rest.last else {
            return Line(what: what, first: quiet.first.map { number($0) } ?? "", last: "", limit: "", holds: nil)
        }
        return Line(
            what: what + ", pair alone", first: number(first),
            last: "\(number(last)) (highest in a cycle \(number(highest)))",
            limit: "+\(number(slack))", holds: last <= first + slack)
    }

    private static func lips(_ samples: [SoakSample]) -> Line {
        let offsets = samples.map(\.worstOffset)
        let known = offsets.compactMap { $0 }
        let worst = known.map { abs($0) }.max() ?? .infinity
        let missing = offsets.count - known.count
        let single = samples.flatMap { $0.lips.flatMap(\.offsets) }.map { abs($0) }
        return Line(
            what: "A/V offset, median of 10 s, ms", first: known.first.map { number($0) } ?? "",
            last:
                "\(known.last.map { number($0) } ?? "none") (worst \(number(worst)), single p95 \(number(Statistics.quantile(0.95, of: single))), "
                + "intervals without \(missing))",
            limit: "\(number(offsetLimit))", holds: !known.isEmpty && missing == 0 && worst < offsetLimit)
    }

    /// The median of the first window, and of each later one; nil with fewer than two windows.
    private static func windows(_ values: [Double]) -> (first: Double, rest: [Double])? {
        let size = min(window, values.count / 2)
        guard size > 0 else { return nil }
        let rest = (size...values.count - size).map { Statistics.median(Array(values[$0..<$0 + size])) }
        return (Statistics.median(Array(values[..<size])), rest)
    }

    private static func number(_ value: Double) -> String {
        value.formatted(.number.precision(.fractionLength(0...1)).grouping(.never))
    }
    private static func percent(_ value: Double) -> String {
        (value * 100).formatted(.number.precision(.fractionLength(1))) + " %"
    }

    var text: String {
        var table = MarkdownTable("what", "after the warm-up", "at the end", "limit", "verdict")
        for line in lines {
            table.add([
                line.what, line.first, line.last, line.limit,
                line.holds.map { $0 ? "✓" : "✗ MISSED" } ?? "too short to tell",
            ])
        }
        return table.text
    }
}
