import Basics
import Foundation

/// The report on the runs with increasing numbers of cores.
struct ScaleReport {
    struct Run: Sendable {
        var cores: Int
        /// Whether the callers had processors of their own.
        var isApart: Bool
        /// How much more bare codec work the machine does on these cores than on one.
        var machine: Double
        var readings: [ScaleReading]

        /// The last reading without overload.
        var full: ScaleReading? { readings.last { !$0.isTooMuch } }
    }

    let runs: [Run]

    /// Threads that all rooms share and that cannot be multiplied: their time grows with every participant.
    private static let shared = ["picture clock", "control", "NIO-ELT", "tessera"]
    /// The share of a core that such a thread may use before its work is late.
    private static let fullness = 0.7

    var text: String { [capacity, threads, far].joined(separator: "\n\n") }

    private var capacity: String {
        var table = MarkdownTable(
            "server's cores", "people borne", "server", "callers beside it", "people without them", "ms/s a person",
            "handed over")
        for run in runs {
            guard let full = run.full else { continue }
            table.add([
                "\(run.cores)", "\(full.people)", number(full.serverLoad, 2),
                run.isApart ? "none" : number(full.callerLoad, 2),
                number(alone(run, full), 0), number(perPerson(full), 1), "\(number(full.handedOver, 0))/s",
            ])
        }
        var text = table.text
        if let first = runs.first, let last = runs.last, let one = first.full, let all = last.full,
            last.cores > first.cores
        {
            let factor = alone(last, all) / alone(first, one), machine = last.machine / first.machine
            text +=
                "\n\nOn \(last.cores) cores \(number(factor, 2)) times the people of \(first.cores). The machine does \(number(machine, 2)) times the bare "
                + "codec work there, in as many threads that share nothing: the server has \(number(factor / machine * 100, 0)) % of what there is to have."
        }
        return text
    }

    /// Callers on the server's own cores take processor time in which the server would have supported more
    /// participants.
    private func alone(_ run: Run, _ reading: ScaleReading) -> Double {
        Double(reading.people) * (run.isApart ? 1 : 1 + reading.callerLoad / reading.serverLoad)
    }

    private func perPerson(_ reading: ScaleReading) -> Double {
        reading.serverLoad * 1000 / Double(max(1, reading.people))
    }

    private var threads: String {
        guard let full = runs.last?.full else { return "Nothing was borne." }
        var table = MarkdownTable("thread", "ms/s a person", "share", "busiest one", "can be made more of")
        for (name, load) in full.threads.sorted(by: { $0.value > $1.value }) where load > 0.0001 {
            table.add([
                name, number(load * 1000 / Double(full.people), 2), number(load / full.serverLoad * 100, 1) + " %",
                number((full.busiest[name] ?? 0) * 100, 1) + " %", Self.shared.contains(name) ? "no" : "yes",
            ])
        }
        return table.text
    }

    /// The limit by Amdahl's law, from the work of the shared threads.
    private var far: String {
        guard let last = runs.last, let full = last.full else { return "" }
        let worst =
            Self.shared.map { ($0, (full.threads[$0] ?? 0) * 1000 / Double(full.people)) }.max { $0.1 < $1.1 } ?? (
                "", 0
            )
        let bound = worst.1 > 0 ? Self.fullness * 1000 / worst.1 : .infinity
        let carried = min(32 * alone(last, full) / Double(last.cores), bound)
        return
            "Of what cannot be spread, `\(worst.0)` takes the most: \(number(worst.1, 3)) ms/s a person, full (\(number(Self.fullness * 100, 0)) % "
            + "of a core) with \(bound.isFinite ? number(bound, 0) : "any number of") people. 32 cores would carry \(number(carried, 0)) people like these."
    }

    private func number(_ value: Double, _ digits: Int) -> String {
        value.formatted(.number.precision(.fractionLength(digits)).grouping(.never))
    }
}
