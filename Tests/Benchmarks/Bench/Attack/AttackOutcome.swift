import Foundation

/// The results of one row of the table.
struct AttackOutcome: Codable, Sendable {
    enum Verdict: String, Codable, Sendable { case held, harmed, died }

    var name: String
    var verdict = Verdict.held
    /// The violated limits, in words.
    var faults: [String] = []
    /// Remarks.
    var remarks: [String] = []
    /// The bystanders' longest gaps, in milliseconds.
    var audioGap = 0.0
    var pictureGap = 0.0
    var packetsLost = 0
    /// The loop's longest turn in milliseconds, and the processor time in it; nil where the server does not report
    /// them.
    var loopTurn: Double?
    var loopTurnProcessor: Double?
    /// Memory in MB: before the attack, the peak, and afterwards.
    var memoryBefore = 0.0
    var memoryPeak = 0.0
    var memoryAfter = 0.0
    /// The allowed growth above `memoryBefore`.
    var memoryLimit = 0.0
    /// The seconds from the attack's end until memory was within the bound again; nil when it was not within the
    /// observed time.
    var memoryBack: Double?
    var checks = 0
    var failedChecks = 0
    /// How long a newcomer waited, in milliseconds; below zero where the newcomer could not join.
    var newcomerMeanwhile = 0.0
    var newcomerAfterwards = 0.0
    /// The growth of descriptors and files.
    var descriptors = 0
    var files = 0
    /// Processor time by thread, in per cent of a core.
    var threads: [String: Double] = [:]
    /// The part of the machine's time that the host's other guests, and this machine's other programs, used.
    var stolen = 0.0
    var others = 0.0
    /// How often the row was run, because the machine was disturbed.
    var tries = 1

    /// The limits that a row must meet.
    struct Bounds: Sendable {
        /// The allowed gap above that of the undisturbed run, in milliseconds.
        var audioGap = 40.0
        var undisturbed = 0.0
        var pictureGap = 500.0
        var loopTurn = 20.0
        var newcomer = 2000.0
        /// The allowed growth of memory at the end in MB; and whether it is checked.
        var memory = 50.0
        var asksForMemory = true
        var descriptors = 20
        var failedChecks = 0
        /// Six recordings may be started in a room within a minute, and each that is not empty leaves two files.
        var files = 12
    }

    /// Adds the violations and remarks that follow from the measurements.
    mutating func judge(_ bounds: Bounds) {
        let whole = { (value: Double) in String(format: "%.0f", value) }
        if audioGap > bounds.undisturbed + bounds.audioGap { faults.append("silence of \(whole(audioGap)) ms") }
        if pictureGap > bounds.pictureGap { faults.append("the picture stood for \(whole(pictureGap)) ms") }
        if let loopTurn, loopTurn >= bounds.loopTurn { faults.append("a turn of the loop took \(whole(loopTurn)) ms") }
        if failedChecks > bounds.failedChecks { faults.append("healthz failed \(failedChecks) of \(checks) times") }
        if newcomerMeanwhile < 0 { faults.append("nobody new came in meanwhile") }
        if newcomerAfterwards < 0 { faults.append("nobody new came in afterwards") }
        if newcomerMeanwhile > bounds.newcomer {
            faults.append("newcomers waited \(whole(newcomerMeanwhile)) ms meanwhile")
        }
        if newcomerAfterwards > bounds.newcomer {
            faults.append("newcomers waited \(whole(newcomerAfterwards)) ms afterwards")
        }
        if memoryPeak > memoryBefore + memoryLimit { faults.append("took \(whole(memoryPeak - memoryBefore)) MB") }
        if bounds.asksForMemory, verdict != .died, memoryBack == nil {
            faults.append("\(whole(memoryAfter - memoryBefore)) MB kept")
        }
        if descriptors > bounds.descriptors { faults.append("\(descriptors) descriptors kept") }
        if files > bounds.files { faults.append("\(files) files left") }
        if !faults.isEmpty, verdict == .held { verdict = .harmed }
    }
}

/// The table, in Markdown.
enum AttackTable {
    static let notes = """
        Gaps are the longest of either bystander: in sound (the other's tone; packets come every 20 ms) and picture (a change in the other's tile). \
        The longest turn of the server's network loop is by the clock, in brackets what of it was processor time. Memory: before, at most, 30 s after (or as soon as
        it was back); in brackets when it was back if that was later.
        """

    private static let head = [
        "attack", "result", "gap in sound ms", "in picture ms", "longest turn ms", "memory MB", "healthz",
        "newcomer meanwhile / after ms",
        "descriptors, files kept", "what happened",
    ]

    /// The columns are not aligned, because the last one would make every row as long as the longest.
    static func text(_ rows: [AttackOutcome]) -> String {
        ([head, head.map { _ in "---" }] + rows.map(cells)).map { "| " + $0.joined(separator: " | ") + " |" }.joined(
            separator: "\n")
    }

    static func turn(_ row: AttackOutcome) -> String {
        guard let wall = row.loopTurn else { return "?" }
        return String(format: "%.1f", wall) + (row.loopTurnProcessor.map { String(format: " (%.1f)", $0) } ?? "")
    }

    /// The table of the documentation: the attacks and their results.
    static func page(_ rows: [AttackOutcome], _ attacks: [Attack]) -> String {
        let head = [
            "attack", "what it does", "result", "gap in sound / picture ms", "longest turn ms", "memory MB",
            "newcomer meanwhile / after ms", "beside it",
        ]
        let lines = rows.map { row -> [String] in
            let cells = cells(row)
            let what = attacks.first { $0.name == row.name }?.what ?? ""
            return [
                row.name, what, cells[1], "\(cells[2]) / \(cells[3])", cells[4], cells[5], cells[7],
                (row.faults + row.remarks).joined(separator: "; "),
            ]
        }
        return ([head, head.map { _ in "---" }] + lines).map { "| " + $0.joined(separator: " | ") + " |" }.joined(
            separator: "\n")
    }

    private static func cells(_ row: AttackOutcome) -> [String] {
        let whole = { (value: Double) in value < 0 ? "none" : String(format: "%.0f", value) }
        var memory = "\(whole(row.memoryBefore)) > \(whole(row.memoryPeak)) > \(whole(row.memoryAfter))"
        if let back = row.memoryBack, back > 31 { memory += " (\(whole(back)) s)" }
        let threads = row.threads.filter { $0.value >= 1 }.sorted { $0.value > $1.value }.prefix(4).map {
            "\($0.key) \(whole($0.value)) %"
        }
        return [
            row.name, row.verdict == .held ? "held" : row.verdict.rawValue.uppercased(), whole(row.audioGap),
            whole(row.pictureGap),
            turn(row), memory, row.failedChecks == 0 ? "ok" : "\(row.failedChecks) of \(row.checks) failed",
            "\(whole(row.newcomerMeanwhile)) / \(whole(row.newcomerAfterwards))", "\(row.descriptors), \(row.files)",
            (row.faults + row.remarks + (threads.isEmpty ? [] : [threads.joined(separator: ", ")])).joined(
                separator: "; "),
        ]
    }
}
