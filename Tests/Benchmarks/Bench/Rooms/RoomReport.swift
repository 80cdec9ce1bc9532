import Foundation

/// The tables.
enum RoomReport {
    static func costs(_ all: [RoomStatistics]) -> String {
        var table = MarkdownTable("people", "", "network", "decode", "compose", "encode", "audio", "other", "sum")
        let parts: [KeyPath<StageTimes, Double>] = StageTimes.parts + [\.total]
        // What the bare work has not.
        let own: Set<PartialKeyPath<StageTimes>> = [\StageTimes.network, \StageTimes.other]
        for statistics in all {
            table.add([statistics.name, "Tessera"] + parts.map { milliseconds(statistics.server($0)) })
            table.add(["", "bare"] + parts.map { own.contains($0) ? "" : milliseconds(statistics.floor($0)) })
            table.add(
                ["", "ratio"]
                    + parts.map { own.contains($0) ? "" : number(statistics.ratio($0, atEqualSpeed: false).median, 2) })
        }
        return table.text
    }

    static func ratios(_ all: [RoomStatistics]) -> String {
        var table = MarkdownTable(
            "people", "turns", "decode + compose + encode over bare", "whole server over bare", "machine slower by",
            "the first at equal speed", "the second", "change that is visible", "decoded/s", "composed/s", "encoded/s",
            "dropped/s")
        for statistics in all {
            table.add([
                statistics.name, "\(statistics.turns.count)",
                ratio(statistics.ratio(\.video, atEqualSpeed: false)),
                ratio(statistics.ratio(\.total, atEqualSpeed: false)),
                ratio(statistics.slowdown), ratio(statistics.ratio(\.video, atEqualSpeed: true)),
                ratio(statistics.ratio(\.total, atEqualSpeed: true)), number(statistics.visible * 100, 1) + " %",
                number(statistics.perSecond(\.decodes)), number(statistics.perSecond(\.composes)),
                number(statistics.perSecond(\.encodes)),
                number(statistics.perSecond(\.dropped), 1),
            ])
        }
        return table.text
    }

    static func delays(_ all: [RoomStatistics]) -> String {
        var table = MarkdownTable(
            "people", "delay median", "p95", "decode", "wait", "encode", "send", "sound's own",
            "join to picture, median",
            "worst", "memory", "of it the room")
        for statistics in all {
            table.add(
                [statistics.name, number(statistics.delay(0.5)), number(statistics.delay(0.95))]
                    + ["decode", "wait", "encode", "send"].map {
                        "\(number(statistics.delay(0.5, of: $0))) / \(number(statistics.delay(0.95, of: $0)))"
                    }
                    + [
                        number(statistics.perSecond(\.audioDelay)), number(Statistics.median(statistics.firstPictures)),
                        number(statistics.firstPictures.max() ?? 0),
                        number(statistics.memory.with) + " MB",
                        number(statistics.memory.with - statistics.memory.before) + " MB",
                    ])
        }
        return table.text
    }

    /// The rooms in which a change of `part` would not be seen, and how many turns would show it.
    static func blind(_ all: [RoomStatistics], to part: Double) -> [String] {
        all.filter { $0.visible > part }.map { statistics in
            let turns = statistics.turns(toShow: part)
            return "\(statistics.name): a change of \(number(part * 100)) % is not visible in "
                + "\(statistics.turns.count) turns" + (turns < 1000 ? "; --rounds \(turns) would show it." : ".")
        }
    }

    /// The median, and a half of what lies between the quartiles.
    private static func milliseconds(_ seconds: Spread) -> String {
        "\(number(seconds.median * 1000, 1)) ± \(number(seconds.half * 1000, 1))"
    }
    private static func ratio(_ ratio: Spread) -> String { "\(number(ratio.median, 2)) ± \(number(ratio.half, 2))" }
    private static func number(_ value: Double, _ digits: Int = 0) -> String { String(format: "%.\(digits)f", value) }
}
