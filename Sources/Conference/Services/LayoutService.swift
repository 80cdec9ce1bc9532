import Basics
import Logging
import Mixing

/// The layouts of the server: the built-in ones, the files of a directory, and those added at run time.
final class LayoutService: Sendable {
    private let library: LayoutLibrary
    private let rooms: RoomService
    /// The default layouts of rooms, which cannot be deleted.
    private let standard: [String?]
    private let logger: Logger

    init(_ library: LayoutLibrary, rooms: RoomService, settings: RoomSettings, logger: Logger) {
        self.library = library
        self.rooms = rooms
        standard = [settings.layout, settings.onPresent.layout]
        self.logger = logger
    }

    var all: [LayoutInfo] {
        library.all.map {
            LayoutInfo(
                name: $0.name, description: $0.description, descriptions: $0.descriptions,
                example: Self.example(of: $0))
        }
    }

    private static func example(of layout: Layout) -> [LayoutInfo.Frame] {
        let width = 1280, height = 720
        var members: [LayoutMember] = []
        for index in 0..<5 {
            members.append(
                LayoutMember(
                    id: String(index), isSpeaker: index == 0, speakerRank: index, isPresenting: index == 0,
                    joinOrder: index))
        }
        let tiles = layout.arrange(members, canvasWidth: width, canvasHeight: height, previous: []).tiles
        return tiles.sorted { $0.z < $1.z }.map { frame(of: $0, width: Double(width), height: Double(height)) }
    }

    private static func frame(of tile: Tile, width: Double, height: Double) -> LayoutInfo.Frame {
        LayoutInfo.Frame(
            x: Double(tile.x) / width, y: Double(tile.y) / height, width: Double(tile.width) / width,
            height: Double(tile.height) / height)
    }

    /// Adds or replaces a layout, after the same checks as a file's. Rooms that use it change at once.
    func put(_ name: String, json: [UInt8]) throws(ConferenceError) {
        guard LayoutDocument.isName(name) else { throw .badRequest("A layout's name has \(LayoutDocument.nameRule).") }
        do {
            _ = try library.put(name: name, json: json)
        } catch {
            throw Self.translate(error)
        }
        rooms.relayout(LayoutLibrary.withAliases([name]))
    }

    /// Checks what would be a layout of this name.
    func check(_ name: String, json: [UInt8]) throws(ConferenceError) {
        do {
            try library.check(name: name, json: json)
        } catch {
            throw Self.translate(error)
        }
    }

    /// Adds, replaces or (nil) removes a layout that the nodes of a cluster share. Rooms that use it change at once.
    func share(_ name: String, json: [UInt8]?) { follow(library.share(name: name, json: json)) }

    /// - Throws: for a default of rooms, and where a room uses it.
    func checkUnused(_ name: String) throws(ConferenceError) {
        if standard.contains(name) || rooms.usesLayout(name) { throw .layoutInUse(name) }
    }

    func delete(_ name: String) throws(ConferenceError) {
        try checkUnused(name)
        do {
            try library.delete(name: name)
        } catch {
            throw Self.translate(error)
        }
    }

    private static func translate(_ error: LayoutLibrary.StoreError) -> ConferenceError {
        switch error {
        case .faults(let faults): .badLayout(faults.faults.map(\.description))
        case .unknown(let name): .unknownLayout(name)
        case .builtIn(let name): .layoutInUse(name)
        case .file: .internalFailure(error.description)
        }
    }

    /// Takes over changed files. Rooms follow at once; a faulty file is logged once and its last good state stays.
    func poll() { follow(library.poll()) }

    private func follow(_ change: LayoutLibrary.Change) {
        for fault in change.faults { logger.warning("\(fault)") }
        if !change.changed.isEmpty { rooms.relayout(LayoutLibrary.withAliases(change.changed)) }
    }
}
