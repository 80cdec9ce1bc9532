import ArgumentParser
import Basics
import Call
import Foundation
import Threads

/// `bench viewers`: the cost of a large audience in the server's signalling, with many viewers of one room whose few
/// senders change their state.
struct ViewersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "viewers", abstract: "Lets many watch one room and prints what telling them who is in it costs.",
        discussion:
            """
            A server of its own on loopback, signalling without media. Each sender raises and lowers its hand four times a \
            second. With --media two send pictures and audio, and the viewers get the mix. With --talks one sends them, \
            who speaks every other second, and the viewers have signalling only.
            """
    )

    @Argument(help: "How many watch.")
    var viewers: Int

    @Option(help: "How many change their state, without --media.")
    var senders = 10

    @Flag(help: "With pictures and audio.")
    var media = false

    @Flag(help: "With one who speaks again and again.")
    var talks = false

    @Option(help: "For how long it is measured.")
    var seconds = 10.0

    @Option(help: ArgumentHelp("The server's program.", valueName: "tessera"))
    var server: String

    func validate() throws {
        guard (1...900).contains(viewers), (1...50).contains(senders) else {
            throw ValidationError("1 to 900 viewers, 1 to 50 senders")
        }
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds \(seconds): 1 to 600") }
    }

    func run() async throws {
        Machine.begin()
        let directory = NSTemporaryDirectory() + "viewers-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let table = try await talks ? talked(directory) : media ? watched(directory) : told(directory)
        print(table + "\n" + Machine.description)
    }

    /// What telling the viewers who is in the room costs.
    private func told(_ directory: String) async throws -> String {
        var table = MarkdownTable(
            "viewers", "told by", "bytes/s each", "messages/s each", "control thread, ms/s", "process, ms/s")
        for isWhole in [true, false] {
            let audience = try Audience(
                program: server, directory: directory, viewers: viewers, senders: senders, followsChanges: !isWhole)
            let statistics = try audience.measure(seconds: seconds)
            _ = audience.server.stop()
            table.add([
                "\(viewers)", isWhole ? "whole lists" : "changes", "\(Int(statistics.bytes))",
                String(format: "%.1f", statistics.messages),
                String(format: "%.1f", statistics.control * 1000), String(format: "%.0f", statistics.process * 1000),
            ])
        }
        return table.text
    }

    /// What it costs that somebody speaks.
    private func talked(_ directory: String) async throws -> String {
        guard let talker = try SoakFootage().talker else { throw BenchError("there is no talker") }
        let audience = try Audience(
            program: server, directory: directory, viewers: viewers, senders: 1, followsChanges: true)
        defer { _ = audience.server.stop() }
        let crowd = try Crowd(places: 1, named: "callers")
        defer { crowd.stop() }
        var table = MarkdownTable("viewers", "", "messages/s each", "control thread, ms/s", "process, ms/s")
        func measure(_ what: String) throws {
            let statistics = try audience.measure(seconds: seconds, isChanging: false)
            table.add([
                "\(viewers)", what, String(format: "%.1f", statistics.messages),
                String(format: "%.1f", statistics.control * 1000), String(format: "%.0f", statistics.process * 1000),
            ])
        }
        try measure("nobody speaks")
        let guest = ScaleGuest(
            place: 0, room: "hall", address: try SignallingAddress("http://\(audience.server.http)"), crowd: crowd,
            source: talker, options: Crowd.Options(codec: .h264))
        // The guest ends with the run, which is no fault.
        let call = Task { try? await guest.run() }
        defer { call.cancel() }
        try await Task.sleep(for: .seconds(3))
        try measure("one speaks")
        return table.text
    }

    /// What the mix for the viewers costs, and what they get.
    private func watched(_ directory: String) async throws -> String {
        let audience = MediaAudience(viewers: viewers, seconds: seconds, program: server, directory: directory)
        let reading = try await audience.run()
        func number(_ value: Double, _ digits: Int = 0) -> String { String(format: "%.\(digits)f", value) }
        var table = MarkdownTable(
            "viewers", "server, cores", "of it network loops", "callers beside it", "sent, Mbit/s",
            "pictures/s, median", "least", "join to picture, median", "p95", "worst, ms", "overload level")
        table.add([
            "\(viewers)", number(reading.load.serverLoad, 2), number(reading.load.threads["media"] ?? 0, 2),
            number(reading.load.callerLoad, 2), number(reading.megabits),
            number(Statistics.median(reading.pictures), 1),
            number(reading.pictures.min() ?? 0, 1), number(Statistics.median(reading.firstPictures)),
            number(Statistics.quantile(0.95, of: reading.firstPictures)), number(reading.firstPictures.max() ?? 0),
            "\(reading.load.overload)",
        ])
        return table.text
    }
}
