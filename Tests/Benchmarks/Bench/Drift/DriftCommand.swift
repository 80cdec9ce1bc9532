import ArgumentParser
import Basics
import Foundation
import Recording
import Simulation

/// `bench drift`: a long recording of senders whose clocks run at other rates than the server's, in virtual time.
struct DriftCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drift",
        abstract: "Sound against picture at the end of a long recording of senders with drifting clocks.",
        discussion: "Fails where they are further apart than the aim.")

    @Option(help: "The length of the recordings in minutes of virtual time.") var minutes = 60.0
    @Option(help: "How much faster the senders' clocks are, in ppm, comma-separated.") var ppm = "300,-300"
    @Option(help: "The aim, in milliseconds.") var aim = 40.0
    @Option(help: "A folder for the files, which are kept there.") var keep: String?

    func run() async throws {
        var table = MarkdownTable("drift", "link", "length", "flashes", "at the start", "at the end", "largest", "time")
        var isWithin = true
        for (index, text) in ppm.split(separator: ",").enumerated() {
            guard let drift = Double(text) else { throw ValidationError("--ppm \(ppm): numbers such as 300,-300") }
            let began = Date()
            let link = LinkConditions(
                delay: .milliseconds(20), jitter: .milliseconds(10), loss: .random(0.01))
            let sync = try await Self.measure(
                drift: drift / 1e6, for: .seconds(minutes * 60), over: link, seed: UInt64(index) + 1, in: keep)
            let worst = max(abs(sync.atStart), abs(sync.offset), abs(sync.atEnd)) * 1000
            isWithin = isWithin && worst < aim && sync.pairs >= Int(minutes * 60 / 2 * 0.95)
            func milliseconds(_ seconds: Double) -> String { String(format: "%+.0f ms", seconds * 1000) }
            table.add([
                "\(text) ppm", "20 ms + 0–10 ms, 1 % loss", "\(Int(minutes)) min", "\(sync.pairs)",
                milliseconds(sync.atStart), milliseconds(sync.atEnd),
                String(format: "±%.0f ms", sync.spread * 1000),
                String(format: "%.0f s", Date().timeIntervalSince(began)),
            ])
        }
        print(table.text)
        print("\nSound behind the picture is positive; medians of the first and the last third.")
        if !isWithin {
            print("Sound and picture are further apart than \(Int(aim)) ms, or flashes are missing.")
            throw ExitCode.failure
        }
    }

    /// The offset of sound and picture in the recording of one sender.
    static func measure(
        drift: Double, for length: Duration, over link: LinkConditions, seed: UInt64, in folder: String? = nil
    ) async throws -> AVSync {
        let name = folder ?? NSTemporaryDirectory()
        try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: true)
        let file = name + "/drift-\(Int((drift * 1e6).rounded()))-\(UUID().uuidString.prefix(8)).mp4"
        defer { if folder == nil { unlink(file) } }
        _ = try await DriftedRecording(file: file, drift: drift, link: link, seed: seed).run(for: length)
        guard let sync = try RecordingExamination(file: file).sync else {
            throw ValidationError("the recording has no flashes with beeps that belong together")
        }
        return sync
    }
}
