import Foundation

/// The tables.
enum RoomReport {
    static func costs(_ all: [RoomStatistics]) -> String {
        var table = MarkdownTable("people", "", "network", "decode", "compose", "encode", "audio", "other", "sum")
        for statistics in all {
            let server = statistics.server, floor = statistics.floor
            table.add(
                [statistics.name, "Tessera"] + StageTimes.parts.map { milliseconds(server[keyPath: $0]) } + [
                    milliseconds(server.total)
                ])
            table.add(["", "bare"] + bare(floor))
            table.add(
                ["", "ratio"]
                    + [
                        "", ratio(server.decode, floor.decode), ratio(server.compose, floor.compose),
                        ratio(server.encode, floor.encode),
                        ratio(server.audio, floor.audio), "", ratio(server.total, floor.total),
                    ])
        }
        return table.text
    }

    static func ratios(_ all: [RoomStatistics]) -> String {
        var table = MarkdownTable(
            "people", "decode + compose + encode over bare", "whole server over bare", "machine slower by",
            "the first at equal speed", "the second", "decoded/s", "composed/s", "encoded/s",
            "dropped/s")
        for statistics in all {
            let server = statistics.server, floor = statistics.floor
            table.add([
                statistics.name, ratio(server.video, floor.video), ratio(server.total, floor.total),
                ratio(statistics.slowdown, 1), ratio(server.video / statistics.slowdown, floor.video),
                ratio(server.total / statistics.slowdown, floor.total),
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

    private static func bare(_ times: StageTimes) -> [String] {
        [
            "", milliseconds(times.decode), milliseconds(times.compose), milliseconds(times.encode),
            milliseconds(times.audio),
            "",
            milliseconds(times.total),
        ]
    }

    private static func milliseconds(_ seconds: Double) -> String { number(seconds * 1000, 1) }
    private static func ratio(_ a: Double, _ b: Double) -> String { b > 0 ? number(a / b, 2) : "" }
    private static func number(_ value: Double, _ digits: Int = 0) -> String { String(format: "%.\(digits)f", value) }
}
