import ArgumentParser
import Basics
import Foundation
import Glibc
import Threads

/// `bench attack`: the effect of one attacker on the call of two others.
struct AttackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attack",
        abstract: "Attacks a server on loopback during a call of two others, and prints the effect on the call.",
        discussion:
            "Everything stays on 127.0.0.0/8. Some attacks forge addresses and need CAP_NET_RAW; without it their rows say so."
    )

    @Option(help: "Only the attacks whose name matches one of these, comma-separated: words with * for anything.")
    var only = ""

    @Option(help: "How long each attack lasts.")
    var seconds = 10.0

    @Option(help: "The server's program (default: tessera beside this one).")
    var server: String?

    @Option(help: "Writes the table to this file too, with what each attack does.")
    var markdown: String?

    @Flag(help: "Prints the rows as JSON instead of the table.")
    var json = false

    @Flag(help: "Prints what attacks there are and what they do.")
    var list = false

    @Flag(
        help:
            "Takes every row as it comes: none is run again for a busy machine, none is waited for to give its memory back."
    )
    var quick = false

    func validate() throws {
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds is 1 to 600") }
        guard !chosen.isEmpty else {
            throw ValidationError("no attack's name matches --only \(only); --list prints them")
        }
    }

    /// The undisturbed run is the first, because gaps are judged by it.
    private var chosen: [Attack] {
        let patterns = only.split(separator: ",").map(String.init)
        guard !patterns.isEmpty else { return AttackList.all }
        return AttackList.all.filter { attack in patterns.contains { Self.matches(attack.name, $0) } }
    }

    private static func matches(_ name: String, _ pattern: String) -> Bool {
        fnmatch(pattern, name, 0) == 0
    }

    func run() async throws {
        if list {
            var table = MarkdownTable("attack", "what it does")
            for attack in AttackList.all { table.add([attack.name, attack.what]) }
            print(table.text)
            return
        }
        Machine.begin()
        // A bystander that ended is noticed because it does not answer.
        signal(SIGPIPE, SIG_IGN)
        let program =
            server ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/tessera"
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw ValidationError("there is no server at \(program); --server names one")
        }
        let scratch = NSTemporaryDirectory() + "tessera-attack-\(ProcessInfo.processInfo.processIdentifier)"
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        let attacks = [AttackList.nothing] + chosen.filter { $0.name != AttackList.nothing.name }
        let length = seconds, isQuick = quick
        let rows: [AttackOutcome] = try await withCheckedThrowingContinuation { continuation in
            // The runner blocks, and its children end with its thread, so it has a thread of its own.
            DedicatedThread.start("attacks") {
                continuation.resume(
                    with: Result {
                        let runner = AttackRunner(program: program, scratch: scratch, seconds: length) { note($0) }
                        var bounds = AttackOutcome.Bounds()
                        bounds.asksForMemory = !isQuick
                        return try runner.run(attacks, bounds: bounds, isQuick: isQuick)
                    })
            }
        }
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            for row in rows { print(String(decoding: try encoder.encode(row), as: UTF8.self)) }
        } else {
            print(AttackTable.text(rows))
            let held = rows.filter { $0.verdict == .held }.count
            print("\n\(held) of \(rows.count) held. \(AttackTable.notes)\n\nMachine: \(Machine.description).")
        }
        if let markdown {
            try (AttackTable.page(rows, AttackList.all) + "\n").write(
                toFile: markdown, atomically: false, encoding: .utf8)
        }
    }
}

/// Writes progress to standard error, so that standard output has the table only.
private func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
