import ArgumentParser
import Codecs
import Foundation
import Mixing

struct LayoutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "layout", abstract: "Checks and previews layouts.", subcommands: [Check.self, Preview.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reports the faults of layout files, and how to mend them.")

        @Argument(help: ArgumentHelp("Layouts in JSON.", valueName: "file")) var files: [String]

        func run() throws {
            var isFaulty = false
            for file in files {
                do {
                    let layout = try read(file)
                    print("\(file): \(layout.name) is fine")
                } catch {
                    isFaulty = true
                    print(error)
                }
            }
            if isFaulty { throw ExitCode(1) }
        }
    }

    struct Preview: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Draws a layout with people in it, as a PNG.")

        @Argument(help: ArgumentHelp("A layout's name, or a file.", valueName: "name|file")) var layout: String
        @Option(help: "How many people are in the room.") var people: Int
        @Option(help: "Which of them speaks, from 1.") var speaker: Int?
        @Flag(help: "The first one shares a screen.") var presentation = false
        @Option(help: "Which of them is pinned, from 1; may be given several times, in the order of the pins.")
        var pinned: [Int] = []
        @Option(help: "Which of them is a moderator, from 1.") var moderator: Int?
        @Option(help: "For whom alone the picture is, from 1: layouts with \"self\": \"hide\" leave this one out.")
        var viewer: Int?
        @Flag(help: "An upright canvas, 720×1280, as phones get it.") var portrait = false
        @Option(help: ArgumentHelp("The canvas in pixels, such as 1920x1080.", valueName: "width×height"))
        var size: CanvasSize?
        @Option(help: ArgumentHelp("The folder in which names are looked up.", valueName: "dir")) var layouts =
            "layouts"
        @Option(name: .shortAndLong, help: ArgumentHelp("The file for the picture.", valueName: "file")) var output:
            String

        func validate() throws {
            guard (0...1000).contains(people) else { throw ValidationError("--people: 0 to 1000") }
            for (flag, number) in [("--speaker", speaker), ("--moderator", moderator), ("--viewer", viewer)]
                + pinned.map({ ("--pinned", $0) })
            {
                if let number, !(1...max(people, 1)).contains(number) {
                    throw ValidationError("\(flag): 1 to the number of people")
                }
            }
            if portrait, size != nil { throw ValidationError("--portrait and --size: one of them") }
        }

        func run() throws {
            let shown: Layout
            let library = LayoutLibrary(directory: layouts)
            let faults = library.poll().faults
            let named = library[layout]
            if named == nil,
                layout.hasSuffix(".json") || layout.contains("/") || FileManager.default.fileExists(atPath: layout)
            {
                do { shown = try read(layout) } catch {
                    printError("\(error)")
                    throw ExitCode(1)
                }
            } else {
                guard let found = named else {
                    for fault in faults where fault.file.hasSuffix("/\(layout).json") { printError("\(fault)") }
                    let names = library.all.map(\.name).sorted().joined(separator: ", ")
                    printError("there is no layout \(layout); there are \(names)")
                    throw ExitCode(1)
                }
                shown = found
            }
            var preview = LayoutPreview(people: people)
            preview.speaker = speaker
            preview.presentation = presentation
            preview.pinned = pinned
            preview.moderator = moderator
            preview.viewer = viewer
            let canvas = size ?? (portrait ? CanvasSize(width: 720, height: 1280) : nil)
            if let canvas { (preview.width, preview.height) = (canvas.width, canvas.height) }
            do { try preview.picture(of: shown).writePNG(path: output) } catch {
                printError("\(output): cannot be written: \(error)")
                throw ExitCode(1)
            }
        }
    }
}

/// A canvas' size as the command line has it: `1280x720`.
struct CanvasSize: ExpressibleByArgument {
    var width: Int
    var height: Int

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    init?(argument: String) {
        let sides = argument.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard sides.count == 2, let width = sides[0], let height = sides[1], (64...3840).contains(width),
            (64...3840).contains(height), width % 2 == 0, height % 2 == 0
        else { return nil }
        (self.width, self.height) = (width, height)
    }
}

/// - Throws: the faults of the file.
private func read(_ file: String) throws(LayoutFaults) -> Layout {
    guard let data = FileManager.default.contents(atPath: file) else {
        throw LayoutFaults([
            LayoutFault(
                file: file, line: 1, column: 1, what: "the file cannot be read",
                mend: "check the path and its permissions")
        ])
    }
    let folder = (file as NSString).deletingLastPathComponent
    return try Layout.parse(
        json: [UInt8](data), file: file, images: LayoutImages(directory: folder.isEmpty ? "." : folder))
}
