import ArgumentParser
import FoundationEssentials
import Mixing

struct LayoutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "layout", abstract: "Checks and previews layouts.",
        subcommands: [Check.self, LayoutPreviewCommand.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reports the faults of layout files, and how to mend them.")

        @Argument(help: ArgumentHelp("Layouts in JSON.", valueName: "file")) var files: [String]

        func run() throws {
            var isFaulty = false
            for file in files {
                do {
                    let layout = try readLayout(file)
                    print("\(file): \(layout.name) is fine")
                } catch {
                    isFaulty = true
                    print(error)
                }
            }
            if isFaulty { throw ExitCode(1) }
        }
    }
}

/// - Throws: the faults of the file.
func readLayout(_ file: String) throws(LayoutFaults) -> Layout {
    guard let data = FileManager.default.contents(atPath: file) else {
        throw LayoutFaults([
            LayoutFault(
                file: file, line: 1, column: 1, what: "the file cannot be read",
                mend: "check the path and its permissions")
        ])
    }
    let folder = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
    return try Layout.parse(
        json: [UInt8](data), file: file, images: LayoutImages(directory: folder.isEmpty ? "." : folder))
}
