import ArgumentParser
import Basics
import Call
import Dispatch
import FoundationEssentials
import Glibc

struct CallCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Joins a room as one or many headless participants, for load tests, monitoring and trials.",
        discussion: """
            Without files it sends a test pattern that flashes and beeps once a second.

            It keeps the call: it comes back for a minute after a lost connection or a dead server, in the same seat \
            where the server gives it, and changes over to another server when its room moves. What it saves goes on \
            in the same file, which stands still for as long as nothing came. Where a moderator has to let it in, it \
            waits and sends nothing. What its source does not give is told as switched off, and a line tells when the \
            server gets no audio or no video from it. Each event of its connections is one \
            line on the standard error, with the time: lost, joined again, back, moving, moved; the last of each kind \
            with the time without picture and without sound.
            """)

    @Argument(help: "The server, e.g. http://localhost:8080.") var url: String
    @Option(help: "The room.") var room: String
    @Option(help: "The name that other participants see.") var name: String
    @Option(
        help: ArgumentHelp(
            "A file whose video is sent in a loop, without transcoding where the codec matches.", valueName: "file")
    ) var video: String?
    @Option(help: ArgumentHelp("A file whose audio is sent in a loop.", valueName: "file")) var audio: String?
    @Option(help: "The video codec: h264 or vp8.") var codec: String = "h264"
    @Option(help: ArgumentHelp("The file for the received media.", valueName: "out.mp4")) var save: String?
    @Option(help: "The number of participants.") var count: Int = 1
    @Option(help: ArgumentHelp("How long to stay; without it, until interrupted.", valueName: "s")) var seconds: Double?
    @Option(help: "An access token, where the server requires one.") var token: String?
    @Option(help: "The room's PIN, where it has one.") var pin: String?

    func validate() throws {
        guard VideoCodec.received.map(\.rawValue).contains(codec) else {
            throw ValidationError("--codec \(codec): h264 or vp8")
        }
        guard (1...1000).contains(count) else { throw ValidationError("--count \(count): 1 to 1000") }
        if let seconds, !(seconds > 0 && seconds < 1e7) { throw ValidationError("--seconds \(seconds): more than 0") }
    }

    func run() async throws {
        let options = CallOptions(
            url: url, room: room, name: name, video: video, audio: audio, codec: VideoCodec(rawValue: codec) ?? .h264,
            save: save,
            count: count, duration: seconds.map { .milliseconds(Int64($0 * 1000)) }, token: token,
            pin: pin)
        let call = Task { try await CallRunner.run(options, report: Self.report, note: Self.note) }
        // A signal ends the call in order, so that the file is closed.
        let signals = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { call.cancel() }
            source.resume()
            return source
        }
        defer { for source in signals { source.cancel() } }
        do {
            try await call.value
        } catch is CancellationError {
        } catch {
            printError("\(error)")
            throw ExitCode(1)
        }
    }

    /// Writes a line that also a pipe gets at once.
    private static func report(_ line: String) { write(line, to: STDOUT_FILENO) }

    /// Writes an event with its time to the standard error: `2026-11-23T10:15:30.250Z Ada: moved: picture gap …`.
    private static func note(_ line: String) {
        let time = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        printError("\(time) \(line)")
    }
}
