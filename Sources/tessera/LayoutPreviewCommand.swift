import ArgumentParser
import Codecs
import FoundationEssentials
import Gateway
import Mixing
import Settings

struct LayoutPreviewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview", abstract: "Draws a layout with people in it, as a PNG.",
        discussion: """
            With --config and --view the picture is that of a view of rooms (rooms.views, main, portrait): its size, its \
            layout unless another one is named, and whether it has names.
            """)

    @Argument(
        help: ArgumentHelp("A layout's name, or a file; with --view not needed.", valueName: "name|file"))
    var layout: String?
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
    @Option(help: ArgumentHelp("A view of rooms in the settings of --config.", valueName: "name")) var view: String?
    @Option(help: ArgumentHelp("The server's YAML file, for --view.", valueName: "file")) var config: String?
    @Option(
        help: ArgumentHelp(
            "The folder in which names are looked up; without it that of the settings, or layouts.", valueName: "dir"))
    var layouts: String?
    @Option(name: .shortAndLong, help: ArgumentHelp("The file for the picture.", valueName: "file")) var output: String

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
        if view != nil, portrait || size != nil {
            throw ValidationError("--view has a size of its own: leave out --portrait and --size")
        }
        if view != nil, config == nil { throw ValidationError("--view needs --config FILE, which has the views") }
        if config != nil, view == nil { throw ValidationError("--config is for --view NAME") }
        if layout == nil, view == nil { throw ValidationError("a layout's name or file is missing, or --view") }
    }

    func run() throws {
        let settings = try readSettings()
        let library = LayoutLibrary(directory: layouts ?? settings?.layouts.directory ?? "layouts")
        let faults = library.poll().faults
        var preview = LayoutPreview(people: people)
        preview.speaker = speaker
        preview.presentation = presentation
        preview.pinned = pinned
        preview.moderator = moderator
        preview.viewer = viewer
        var named = layout
        if let settings, let view {
            guard
                let found = settings.view(
                    view, presenting: presentation, withOwnRules: library.namesWithPresentingRules)
            else {
                let names = settings.viewNames.joined(separator: ", ")
                throw failure("--view: there is no view \(view) in \(config ?? ""); there are \(names)")
            }
            (preview.width, preview.height, preview.names) = (found.width, found.height, found.names)
            named = layout ?? found.layout
        } else if let canvas = size ?? (portrait ? CanvasSize(width: 720, height: 1280) : nil) {
            (preview.width, preview.height) = (canvas.width, canvas.height)
        }
        let shown = try find(named ?? "", in: library, faults)
        do { try preview.picture(of: shown).writePNG(path: output) } catch {
            throw failure("\(output): cannot be written: \(error)")
        }
    }

    /// The settings of `--config`; nil without it.
    private func readSettings() throws -> TesseraConfiguration? {
        guard config != nil else { return nil }
        do {
            return try ConfigurationLoader.load(
                file: try ConfigurationLoader.File(path: config), environment: ProcessInfo.processInfo.environment,
                flags: [])
        } catch {
            for fault in error.faults { printError("tessera: \(fault)") }
            throw ExitCode(ConfigurationFaults.exitStatus)
        }
    }

    private func find(_ name: String, in library: LayoutLibrary, _ faults: [LayoutFault]) throws -> Layout {
        if let found = library[name] { return found }
        if name.hasSuffix(".json") || name.contains("/") || FileManager.default.fileExists(atPath: name) {
            do { return try readLayout(name) } catch { throw failure("\(error)") }
        }
        for fault in faults where fault.file.hasSuffix("/\(name).json") { printError("\(fault)") }
        let names = library.all.map(\.name).sorted().joined(separator: ", ")
        throw failure("there is no layout \(name); there are \(names)")
    }

    private func failure(_ text: String) -> ExitCode {
        printError(text)
        return ExitCode(1)
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
