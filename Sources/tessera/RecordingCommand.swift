import ArgumentParser
import Basics
import FoundationEssentials
import Recording

struct RecordingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recording",
        abstract: "Checks recordings, closes those that a crash left open, and joins those of one meeting.",
        subcommands: [Check.self, Repair.self, Join.self])

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

extension RecordingCommand {
    struct Join: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Makes one MP4 of the recordings of a meeting that went on at other nodes, without encoding again.",
            discussion: """
                The recordings' files, those with .json among them, are in one directory. Between two recordings the last \
                picture stays; where they overlap, the later one counts.
                """)

        @Argument(help: "The id of the first recording: the member `series` of the others.") var series: String
        @Option(name: .shortAndLong, help: ArgumentHelp("Where the files are.", valueName: "directory"))
        var directory = "."
        @Option(
            name: .shortAndLong,
            help: ArgumentHelp(
                "The file for the result, which must not exist; without it, SERIES-joined.mp4.", valueName: "file"))
        var output: String?
        @Option(
            help: ArgumentHelp(
                "The longest time between two recordings that the result shows.", valueName: "seconds"))
        var gap = RecordingJoin.longestGap
        @Flag(help: "Join what is there where a recording is missing.") var incomplete = false

        func validate() throws {
            guard (0...RecordingJoin.longestGap).contains(gap) else {
                throw ValidationError("--gap is from 0 to \(Int(RecordingJoin.longestGap)) seconds")
            }
        }

        func run() throws {
            let output = output ?? series + "-joined.mp4"
            do {
                let summary = try RecordingJoin.join(
                    series, in: directory, output: output, gap: gap, isIncomplete: incomplete)
                print("\(output): \(seconds(summary.duration)), \(summary.bytes) bytes")
            } catch {
                printError("\(error)")
                throw ExitCode(1)
            }
        }
    }
}

private func seconds(_ duration: Duration) -> String { String(duration.inSeconds, decimals: 3) + " s" }
