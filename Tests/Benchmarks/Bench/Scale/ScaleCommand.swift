import ArgumentParser
import Basics
import Foundation
import Threads

/// `bench scale`: how many participants in rooms of four a server supports on one core, two and so on, and what limits
/// their number.
struct ScaleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scale", abstract: "People per core, what each thread takes, and how far that goes.")

    @Option(help: "The server's program (default: tessera beside this one).")
    var server: String?

    @Option(help: "The folder with the layouts.")
    var layouts = "layouts"

    @Option(help: "Numbers of cores that the server gets, comma-separated (default: 1, 2, 4 … as the machine has).")
    var cores: String?

    @Option(help: "How long each number of people is measured, in seconds.")
    var seconds = 8.0

    @Option(help: "No more people than this.")
    var people = 160

    @Option(help: "Network loops of the server (default: its own choice).")
    var loops: Int?

    private func parsedCores() throws -> [Int] {
        let all = Processors.available
        guard let cores else { return sequence(first: 1) { $0 * 2 <= all ? $0 * 2 : nil }.map { $0 } }
        return try cores.split(separator: ",").map { text in
            guard let count = Int(text), (1...all).contains(count) else {
                throw ValidationError("--cores \(cores): numbers from 1 to \(all)")
            }
            return count
        }
    }

    func validate() throws {
        _ = try parsedCores()
        guard seconds >= 2, (4...400).contains(people) else {
            throw ValidationError("at least 2 seconds, and 4 to 400 people")
        }
    }

    func run() async throws {
        let program =
            server ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/tessera"
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw ValidationError("there is no server at \(program); --server names one")
        }
        Machine.begin()
        let footage = try SoakFootage(), work = try Footage()
        let all = Processors.available
        let directory = NSTemporaryDirectory() + "tessera-scale-\(ProcessInfo.processInfo.processIdentifier)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var runs: [ScaleReport.Run] = []
        for count in try parsedCores() {
            try Affinity.set(Array(0..<all))
            let isApart = count < all
            let run = ScaleRun(
                cores: Array(0..<count), callers: isApart ? Array(count..<all) : Array(0..<all), mostPeople: people,
                window: .seconds(seconds), program: program, layouts: layouts, directory: directory,
                more: loops.map { ["TESSERA_MEDIA_LOOPS": "\($0)"] } ?? [:], footage: footage)
            let machine = try await MachineScale.measure(cores: count, work)
            runs.append(
                ScaleReport.Run(cores: count, isApart: isApart, machine: machine, readings: try await run.run()))
        }
        try Affinity.set(Array(0..<all))
        print(
            """
            Rooms of four that get 640×360 at 30 frames/s (one H.264 and one VP8 rendition) and send 320×180 at 15 frames/s and 130 kbit/s; one \
            talks. A server bears them while it saves no work, fewer than a hundredth of its pictures are late, and no sound is left out.

            """)
        print(ScaleReport(runs: runs).text)
        print("\nMachine: \(Machine.description).")
    }
}
