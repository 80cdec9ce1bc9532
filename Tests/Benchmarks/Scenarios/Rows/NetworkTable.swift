import Basics

/// The measurements of one row with one seed.
struct RowStatistics: Sendable {
    var down: DirectionStatistics
    var up: DirectionStatistics
    var checks: [Check]

    init(_ scenario: Scenario, seed: UInt64) throws {
        let outcome = try scenario.run(seed: seed)
        down = DirectionStatistics(meanOf: scenario.shown.map { outcome.down($0) })
        up = DirectionStatistics(meanOf: scenario.shown.map { outcome.up($0) })
        checks = scenario.verdict(outcome)
    }
}

/// A row over several seeds.
public struct NetworkRow: Sendable {
    public let scenario: Scenario
    var runs: [RowStatistics]

    /// Runs the row with each seed, several at a time.
    public static func run(_ scenario: Scenario, seeds: Range<UInt64>, atOnce: Int) async throws -> NetworkRow {
        let runs = try await withThrowingTaskGroup(of: (UInt64, RowStatistics).self) { group in
            var results: [UInt64: RowStatistics] = [:]
            for seed in seeds {
                if seed >= seeds.lowerBound + UInt64(max(atOnce, 1)), let (seed, statistics) = try await group.next() {
                    results[seed] = statistics
                }
                group.addTask { (seed, try RowStatistics(scenario, seed: seed)) }
            }
            for try await (seed, statistics) in group { results[seed] = statistics }
            return results
        }
        return NetworkRow(scenario: scenario, runs: seeds.compactMap { runs[$0] })
    }

    /// The median and the worst value of each aim, and whether the worst meets it.
    public var verdicts: [String] {
        guard let first = runs.first else { return [] }
        return first.checks.indices.map { index in
            let sorted = runs.map { $0.checks[index] }.sorted {
                ($0.value < $1.value) == $0.smallIsGood && $0.value != $1.value
            }
            let median = sorted[(sorted.count - 1) / 2]
            let worst = sorted[sorted.count - 1]
            let met = sorted.count(where: \.isMet)
            let mark: String
            if case .none = worst.bound {
                mark = ""
            } else {
                mark = met == sorted.count ? "✓ " : "✗ (\(met) of \(sorted.count) meet it) "
            }
            return "\(mark)\(median.name) \(median.text(of: median.value))"
                + (sorted.count > 1 ? " (worst \(worst.text(of: worst.value)))" : "")
        }
    }

    var aims: String { "| \(scenario.name) | \(scenario.aim) | \(verdicts.joined(separator: "<br>")) |" }

    var statistics: [String] {
        ["| \(scenario.name) | down | \(cells(runs.map(\.down))) |", "| | up | \(cells(runs.map(\.up))) |"]
    }
}

/// The tables of `bench network` in Markdown: aims and measurements, as medians over the seeds with the worst value in
/// brackets.
public func networkTable(
    _ scenarios: [Scenario] = Scenario.all, seeds: Range<UInt64>, atOnce: Int = 1, progress: (String) -> Void = { _ in }
) async throws -> String {
    var aims = ["| line, both ways alike | aim | measured |", "|---|---|---|"]
    var statistics = [
        "| line | way | rungs (mean) | freezes/min over 200 ms | over 500 ms | sound concealed % | picture delay p95 ms | sound delay p95 ms "
            + "| A/V offset p95 ms | queue p95 ms | NACKs % | keyframes asked | kbit/s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for scenario in scenarios {
        progress(scenario.name)
        let row = try await NetworkRow.run(scenario, seeds: seeds, atOnce: atOnce)
        aims.append(row.aims)
        statistics += row.statistics
    }
    return aims.joined(separator: "\n") + "\n\n" + statistics.joined(separator: "\n") + "\n"
}

private func cells(_ runs: [DirectionStatistics]) -> String {
    func number(_ value: Double) -> String {
        let rounded = abs(value) < 10 ? (value * 10).rounded() / 10 : value.rounded()
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }
    func cell(_ value: (DirectionStatistics) -> Double) -> String {
        let sorted = runs.map(value).sorted()
        guard let worst = sorted.last else { return "" }
        let median = number(sorted[(sorted.count - 1) / 2])
        return sorted.count == 1 || median == number(worst) ? median : "\(median) (\(number(worst)))"
    }
    let shares = DirectionStatistics(meanOf: runs).shares.filter { $0.share >= 0.005 }
    return [
        shares.map { "\($0.rung) \(number(($0.share * 100).rounded())) %" }.joined(separator: ", "),
        cell(\.freezesOver200), cell(\.freezesOver500), cell(\.concealed), cell(\.pictureDelay.p95),
        cell(\.audioDelay.p95),
        cell(\.offset.p95), cell(\.queue.p95), cell(\.nacks), cell { Double($0.keyframesAsked) },
        cell { Double($0.bitRate.bitsPerSecond) / 1000 },
    ].joined(separator: " | ")
}

extension DirectionStatistics {
    /// The outcome of several equal members or runs.
    init(meanOf all: [DirectionStatistics]) {
        self = all.first ?? DirectionStatistics()
        guard all.count > 1 else { return }
        let count = Double(all.count)
        func mean(_ value: (DirectionStatistics) -> Double) -> Double { all.reduce(0) { $0 + value($1) } / count }
        freezesOver200 = mean(\.freezesOver200)
        freezesOver500 = mean(\.freezesOver500)
        concealed = mean(\.concealed)
        recovered = mean(\.recovered)
        pictureDelay.median = mean(\.pictureDelay.median)
        pictureDelay.p95 = mean(\.pictureDelay.p95)
        audioDelay.median = mean(\.audioDelay.median)
        audioDelay.p95 = mean(\.audioDelay.p95)
        offset.p95 = mean(\.offset.p95)
        queue.p95 = mean(\.queue.p95)
        nacks = mean(\.nacks)
        keyframesAsked = Int(mean { Double($0.keyframesAsked) }.rounded())
        bitRate = BitRate(bitsPerSecond: Int(mean { Double($0.bitRate.bitsPerSecond) }))
        var shares: [(rung: String, share: Double)] = []
        for (rung, share) in all.flatMap(\.shares) {
            if let index = shares.firstIndex(where: { $0.rung == rung }) {
                shares[index].share += share / count
            } else {
                shares.append((rung, share / count))
            }
        }
        self.shares = shares
    }
}

/// The gain and cost of RED compared with in-band FEC, in Markdown.
public func redundancyTable(packets: Int = 300_000) -> String {
    var lines = [
        "| sound over a line that loses | without anything | the packet after carries it (in-band FEC, RED) | RED with two | in-band / RED / RED with two |",
        "|---|---|---|---|---|",
    ]
    func percent(_ value: Double) -> String { "\((value * 100).rounded() / 100) %" }
    for row in RedundancyComparison.all(seed: 1, packets: packets) {
        lines.append(
            "| \(row.line) | \(percent(row.lostWithNothing)) | \(percent(row.lostWithOneBack)) | \(percent(row.lostWithTwoBack)) "
                + "| \(row.inBandRate) / \(row.oneBackRate) / \(row.twoBackRate)bit/s |")
    }
    return lines.joined(separator: "\n") + "\n"
}
