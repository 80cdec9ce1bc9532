import Basics

/// The table of `bench network`: every row run once with the seed, as Markdown.
public func networkTable(seed: UInt64 = 1, progress: (String) -> Void = { _ in }) throws -> String {
    var lines = [
        "| line | way | rungs | freezes/min >200 ms (>500) | sound concealed (by FEC) | picture delay p50/p95 ms | sound delay p50/p95 ms "
            + "| A/V offset p95 ms | queue p95 ms | NACKs | keyframes asked/sent | kbit/s | aim | measured |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for scenario in Scenario.all {
        progress(scenario.name)
        let outcome = try scenario.run(seed: seed)
        let checks = scenario.verdict(outcome)
        let measured = checks.map { ($0.isMet ? "✓ " : "✗ ") + $0.what }.joined(separator: "<br>")
        let down = average(scenario.shown.map { outcome.down($0) })
        let up = average(scenario.shown.map { outcome.up($0) })
        lines.append("| \(scenario.name) | down | \(cells(down)) | \(scenario.aim) | \(measured) |")
        lines.append("| | up | \(cells(up)) | | |")
    }
    return lines.joined(separator: "\n") + "\n"
}

private func cells(_ figures: DirectionFigures) -> String {
    func number(_ value: Double) -> String { value == value.rounded() ? "\(Int(value))" : "\((value * 10).rounded() / 10)" }
    let shares = figures.shares.map { "\($0.rung) \(number(($0.share * 100).rounded())) %" }.joined(separator: ", ")
    return [
        shares, "\(number(figures.freezesOver200)) (\(number(figures.freezesOver500)))",
        "\((figures.concealed * 100).rounded() / 100) % (\((figures.recovered * 100).rounded() / 100))",
        "\(Int(figures.pictureDelay.median))/\(Int(figures.pictureDelay.p95))", "\(Int(figures.soundDelay.median))/\(Int(figures.soundDelay.p95))",
        "\(Int(figures.offset.p95))", "\(Int(figures.queue.p95))", "\((figures.nacks * 100).rounded() / 100) %",
        "\(figures.keyframesAsked)/\(figures.keyframesSent)", "\(figures.bitRate.bitsPerSecond / 1000)",
    ].joined(separator: " | ")
}

/// Of several members alike.
private func average(_ all: [DirectionFigures]) -> DirectionFigures {
    guard var result = all.first, all.count > 1 else { return all.first ?? DirectionFigures() }
    let count = Double(all.count)
    func mean(_ value: (DirectionFigures) -> Double) -> Double { all.reduce(0) { $0 + value($1) } / count }
    result.freezesOver200 = mean(\.freezesOver200)
    result.freezesOver500 = mean(\.freezesOver500)
    result.concealed = mean(\.concealed)
    result.recovered = mean(\.recovered)
    result.pictureDelay.median = mean(\.pictureDelay.median)
    result.pictureDelay.p95 = mean(\.pictureDelay.p95)
    result.soundDelay.median = mean(\.soundDelay.median)
    result.soundDelay.p95 = mean(\.soundDelay.p95)
    result.offset.p95 = mean(\.offset.p95)
    result.queue.p95 = mean(\.queue.p95)
    result.nacks = mean(\.nacks)
    result.bitRate = BitRate(bitsPerSecond: Int(mean { Double($0.bitRate.bitsPerSecond) }))
    var shares: [(rung: String, share: Double)] = []
    for figures in all {
        for (rung, share) in figures.shares {
            if let index = shares.firstIndex(where: { $0.rung == rung }) { shares[index].share += share / count } else { shares.append((rung, share / count)) }
        }
    }
    result.shares = shares
    return result
}

/// What RED would gain and cost beside in-band FEC, as Markdown.
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
