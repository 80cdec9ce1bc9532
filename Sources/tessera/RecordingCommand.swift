import ArgumentParser
import Basics
import Foundation
import Recording

struct RecordingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recording", abstract: "Checks recordings, and closes those that a crash left open.",
        subcommands: [Check.self, Repair.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the duration, the tracks, and the offset between audio and video.")

        @Argument(help: ArgumentHelp("Recordings.", valueName: "file")) var files: [String]

        func run() throws {
            var isFaulty = false
            for file in files {
                do {
                    let report = try RecordingRepair.check(file: file)
                    print(
                        "\(file): \(seconds(report.duration)), \(report.bytes) bytes, \(report.closedProperly ? "closed properly" : "not closed: repair it")"
                    )
                    for track in report.tracks {
                        let size =
                            track.kind == .video
                            ? " \(track.width)×\(track.height), \(track.keyframeCount) keyframes," : ""
                        print(
                            "  \(track.kind == .video ? "video" : "audio") \(track.codec)\(size) \(track.packetCount) packets, \(seconds(track.start)) to \(seconds(track.end))"
                        )
                    }
                    if let offset = report.avOffset {
                        print(
                            "  A/V offset \(milliseconds(offset))"
                                + (report.avOffsetAtEnd.map { ", at the end \(milliseconds($0))" } ?? ""))
                    }
                    if !report.closedProperly { isFaulty = true }
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

private func seconds(_ duration: Duration) -> String { String(format: "%.3f s", duration.inSeconds) }
private func milliseconds(_ duration: Duration) -> String { String(format: "%+.1f ms", duration.inMilliseconds) }
