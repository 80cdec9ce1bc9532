import ArgumentParser
import Basics
import FoundationEssentials
import Recording

struct RecordingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recording", abstract: "Checks recordings, and closes those that a crash left open.",
        subcommands: [Check.self, Repair.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints tracks, gaps, the offset between audio and video, and what the recorder noted.")

        @Argument(help: ArgumentHelp("Recordings.", valueName: "file")) var files: [String]
        @Flag(help: "Do not decode: without the offset of the content and without silence.") var quick = false

        func run() throws {
            var isFaulty = false
            for file in files {
                do {
                    let found = try RecordingExamination(file: file, decoding: !quick)
                    found.lines.forEach { print($0) }
                    if !found.report.closedProperly { isFaulty = true }
                } catch {
                    printError("\(file): \(error)")
                    isFaulty = true
                }
            }
            if isFaulty { throw ExitCode(1) }
        }
    }

    struct Repair: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes an ordinary, seekable MP4 of a recording that was cut off.")

        @Argument(help: ArgumentHelp("Recordings.", valueName: "file")) var files: [String]
        @Option(
            name: .shortAndLong,
            help: ArgumentHelp("The file for the result; without it, the recording is replaced.", valueName: "file"))
        var output: String?

        func validate() throws {
            if output != nil, files.count > 1 { throw ValidationError("-o is for one file") }
        }

        func run() throws {
            var isFaulty = false
            for file in files {
                do {
                    let summary = try RecordingRepair.repair(file: file, output: output ?? file)
                    print("\(output ?? file): \(seconds(summary.duration)), \(summary.bytes) bytes")
                } catch {
                    printError("\(file): \(error)")
                    isFaulty = true
                }
            }
            if isFaulty { throw ExitCode(1) }
        }
    }
}

private func seconds(_ duration: Duration) -> String { String(duration.inSeconds, decimals: 3) + " s" }
