import Foundation

/// The tables.
enum RoomReport {
    static func costs(_ all: [RoomFigures]) -> String {
        var table = MarkdownTable("people", "", "network", "decode", "compose", "encode", "audio", "other", "sum")
        for figures in all {
            let server = figures.server, floor = figures.floor
            table.add(
                ["\(figures.peers)", "Tessera"] + StageTimes.parts.map { milliseconds(server[keyPath: $0]) } + [
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

    static func ratios(_ all: [RoomFigures]) -> String {
        var table = MarkdownTable(
            "people", "decode + compose + encode over bare", "whole server over bare", "machine slower by",
            "the first at equal speed", "the second", "decoded/s", "composed/s", "encoded/s",
            "dropped/s")
        for figures in all {
            let server = figures.server, floor = figures.floor
            table.add([
                "\(figures.peers)", ratio(server.video, floor.video), ratio(server.total, floor.total),
                ratio(figures.slowdown, 1), ratio(server.video / figures.slowdown, floor.video),
                ratio(server.total / figures.slowdown, floor.total),
                number(figures.perSecond(\.decodes)), number(figures.perSecond(\.composes)),
                number(figures.perSecond(\.encodes)),
                number(figures.perSecond(\.dropped), 1),
            ])
        }
        return table.text
    }

    static func delays(_ all: [RoomFigures]) -> String {
        var table = MarkdownTable(
            "people", "delay median", "p95", "decode", "wait", "encode", "send", "sound's own",
            "join to picture, median",
            "worst", "memory", "of it the room")
        for figures in all {
            table.add(
                ["\(figures.peers)", number(figures.delay(0.5)), number(figures.delay(0.95))]
                    + ["decode", "wait", "encode", "send"].map {
                        "\(number(figures.delay(0.5, of: $0))) / \(number(figures.delay(0.95, of: $0)))"
                    }
                    + [
                        number(figures.perSecond(\.sound)), number(Figures.median(figures.firstPictures)),
                        number(figures.firstPictures.max() ?? 0),
                        number(figures.memory.with) + " MB",
                        number(figures.memory.with - figures.memory.before) + " MB",
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
