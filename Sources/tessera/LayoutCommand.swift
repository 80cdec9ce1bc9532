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
        @Option(help: ArgumentHelp("The folder in which names are looked up.", valueName: "dir")) var layouts =
            "layouts"
        @Option(name: .shortAndLong, help: ArgumentHelp("The file for the picture.", valueName: "file")) var output:
            String

        func validate() throws {
            guard (0...1000).contains(people) else { throw ValidationError("--people: 0 to 1000") }
            if let speaker, !(1...max(people, 1)).contains(speaker) {
                throw ValidationError("--speaker: 1 to the number of people")
            }
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
            let picture = LayoutPreview.picture(of: shown, people: people, speaker: speaker, presentation: presentation)
            do { try picture.writePNG(path: output) } catch {
                printError("\(output): cannot be written: \(error)")
                throw ExitCode(1)
            }
        }
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
    return try Layout.parse(json: [UInt8](data), file: file)
}
