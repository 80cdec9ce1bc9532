import Basics
import Simulation

/// The gain of FlexFEC (RFC 8627) for video over retransmission alone, and its cost.
public enum ProtectionComparison {
    static let shapes = [VideoShape.large, .small]
    static let lines: [(name: String, loss: LossModel)] = [
        ("2 % random", .random(0.02)), ("5 % random", .random(0.05)), ("10 % random", .random(0.10)),
        ("5 % in bursts of 8", .bursts(GilbertElliott(averageLoss: 0.05, burstLength: 8))),
    ]
    static let roundTrips: [Duration] = [20, 60, 120, 200, 400].map { .milliseconds($0) }
    static let protections: [(name: String, protection: VideoProtection)] = [
        ("rows of 10", .rows(10)), ("rows of 5", .rows(5)), ("rows of 3", .rows(3)),
        ("each frame by threes", .frames(3)),
        ("8 columns of 5", .columns(8, rows: 5)), ("5 × 5, rows and columns", .matrix(columns: 5, rows: 5)),
    ]

    /// The losses that remain after XOR packets alone, and their cost, independent of the round trip.
    static func unasked(frames: Int, seed: UInt64) -> [String] {
        let head =
            "| stream over a line that loses | without anything | \(protections.map(\.name).joined(separator: " | ")) |"
        var rows = [head, rule(head)]
        for shape in shapes {
            for (name, loss) in lines {
                let cells = ([("", .none)] + protections).map { _, protection in
                    let trial = RepairTrial(
                        shape: shape, loss: loss, roundTrip: .milliseconds(60), protection: protection,
                        retransmits: false)
                    let statistics = trial.run(frames: frames, seed: seed)
                    return "\(text(statistics.broken)) %"
                        + (protection == .none ? "" : " for \(text(statistics.parity)) %")
                }
                rows.append("| \(shape.name), \(name) | \(cells.joined(separator: " | ")) |")
            }
        }
        return rows
    }

    /// The results with retransmission, alone and with XOR packets.
    static func asked(frames: Int, seed: UInt64) -> [String] {
        let head =
            "| stream, line | round trip | RTX alone | \(protections.map { "and " + $0.name }.joined(separator: " | ")) |"
        var rows = [head, rule(head)]
        for shape in shapes {
            for (name, loss) in lines {
                for roundTrip in roundTrips {
                    let cells = ([("", .none)] + protections).map { _, protection in
                        RepairTrial(shape: shape, loss: loss, roundTrip: roundTrip, protection: protection)
                            .run(frames: frames, seed: seed).cell
                    }
                    rows.append(
                        "| \(shape.name), \(name) | \(Int(roundTrip.inMilliseconds)) ms | \(cells.joined(separator: " | ")) |"
                    )
                }
            }
        }
        return rows
    }

    private static func rule(_ head: String) -> String {
        "|" + String(repeating: "---|", count: head.count { $0 == "|" } - 1)
    }

    static func text(_ value: Double) -> String {
        let rounded = value < 10 ? (value * 10).rounded() / 10 : value.rounded()
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }
}

extension RepairStatistics {
    fileprivate var cell: String {
        let late = late.map(ProtectionComparison.text).joined(separator: " / ")
        return
            "\(late) · \(Int(p95.rounded())) · \(ProtectionComparison.text(freezes)) · \(ProtectionComparison.text(parity + repairs)) %"
    }
}

/// The gain and cost of FlexFEC in addition to retransmission, in Markdown.
public func protectionTable(frames: Int = 18_000, seed: UInt64 = 1) -> String {
    let unasked = ProtectionComparison.unasked(frames: frames, seed: seed)
    let asked = ProtectionComparison.asked(frames: frames, seed: seed)
    return """
        Frames that XOR packets alone leave broken, and what these cost of the media:

        \(unasked.joined(separator: "\n"))

        With retransmission: frames later than 33 / 100 / 200 ms in per cent · 95 of 100 wait at most, ms · freezes over 200 ms a minute · all \
        that is sent beside the media:

        \(asked.joined(separator: "\n"))

        """
}
