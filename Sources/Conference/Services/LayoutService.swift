import Basics
import Logging
import Mixing
import Threads

/// The layouts of the server: the built-in ones, the files of a directory, and those added at run time.
///
/// Whatever reads or writes the directory happens on a lane of its own, and the rooms follow from there. A layout in use
/// is looked up without it.
package final class LayoutService: Sendable {
    let lane: DiskLane
    private let library: LayoutLibrary
    /// What the nodes share, and the library does not know yet: the newest of each name; nil: it is removed.
    private let shared = Guarded<[String: [UInt8]?]>([:])
    private let rooms: RoomService
    /// The default layouts of rooms, which cannot be deleted.
    private let standard: [String?]
    private let logger: Logger

    /// - Parameter limit: how long a request waits for the disk.
    init(
        _ library: LayoutLibrary, rooms: RoomService, settings: RoomSettings, logger: Logger,
        limit: Duration = .seconds(5)
    ) {
        self.library = library
        lane = DiskLane("layouts", most: 64, limit: limit)
        self.rooms = rooms
        standard = [settings.layout, settings.onPresent.layout]
        self.logger = logger
    }

    /// The library, with the files as they are now.
    ///
    /// - Throws: where the settings name a layout that does not exist.
    static func library(
        _ configuration: ConferenceConfiguration, logger: Logger
    ) throws(ConferenceError) -> LayoutLibrary {
        let layouts = LayoutLibrary(directory: configuration.layoutsDirectory)
        for fault in layouts.poll().faults { logger.warning("\(fault)") }
        let standard = configuration.rooms.settings
        let named =
            [standard.layout, standard.onPresent.layout].compactMap { $0 } + standard.views.values.compactMap(\.layout)
            + configuration.rooms.presets.layouts
        for name in named where layouts[name] == nil { throw .unknownLayout(name) }
        return layouts
    }

    package var all: [LayoutInfo] {
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
    package func put(_ name: String, json: [UInt8]) async throws(ConferenceError) {
        guard LayoutDocument.isName(name) else { throw .badRequest("A layout's name has \(LayoutDocument.nameRule).") }
        try await onDisk { [library, rooms] () throws(LayoutLibrary.StoreError) in
            _ = try library.put(name: name, json: json)
            rooms.relayout(LayoutLibrary.withAliases([name]))
        }
    }

    /// Checks what would be a layout of this name.
    package func check(_ name: String, json: [UInt8]) async throws(ConferenceError) {
        try await onDisk { [library] () throws(LayoutLibrary.StoreError) in try library.check(name: name, json: json) }
    }

    /// Adds, replaces or (nil) removes a layout that the nodes of a cluster share, and lets the rooms that use it change.
    /// Does not wait for that.
    package func share(_ name: String, json: [UInt8]?) {
        shared.withLock { $0[name] = .some(json) }
        // Where the lane is full, the next poll takes it over.
        lane.submit(replacing: "share") { [self] in takeShared() }
    }

    /// Returns when what was shared is in use, or when the disk has not answered for too long.
    package func settle() async { _ = try? await lane.run { [self] in takeShared() } }

    /// Called on the lane.
    private func takeShared() {
        let shared = shared.withLock { shared in
            defer { shared = [:] }
            return shared
        }
        for (name, json) in shared { follow(library.share(name: name, json: json)) }
    }

    /// - Throws: for a default of rooms, and where a room uses it.
    package func checkUnused(_ name: String) throws(ConferenceError) {
        if standard.contains(name) || rooms.usesLayout(name) { throw .layoutInUse(name) }
    }

    package func delete(_ name: String) async throws(ConferenceError) {
        try checkUnused(name)
        try await onDisk { [library] () throws(LayoutLibrary.StoreError) in try library.delete(name: name) }
    }

    private func onDisk(
        _ job: @escaping @Sendable () throws(LayoutLibrary.StoreError) -> Void
    ) async throws(ConferenceError) {
        let result: Result<Void, LayoutLibrary.StoreError>
        do throws(DiskLane.Refusal) {
            result = try await lane.run { Result { () throws(LayoutLibrary.StoreError) in try job() } }
        } catch {
            throw .noAnswer(ofDisk: "layouts")
        }
        do throws(LayoutLibrary.StoreError) { try result.get() } catch { throw Self.translate(error) }
    }

    private static func translate(_ error: LayoutLibrary.StoreError) -> ConferenceError {
        switch error {
        case .faults(let faults): .badLayout(faults.faults.map(\.description))
        case .unknown(let name): .unknownLayout(name)
        case .builtIn(let name): .layoutInUse(name)
        case .file: .internalFailure(error.description)
        }
    }

    /// Looks for changed files, in the background. Rooms follow at once; a faulty file is logged once and its last good
    /// state stays.
    func poll() {
        lane.submit(replacing: "poll") { [self] in
            takeShared()
            follow(library.poll())
        }
    }

    private func follow(_ change: LayoutLibrary.Change) {
        for fault in change.faults { logger.warning("\(fault)") }
        if !change.changed.isEmpty { rooms.relayout(LayoutLibrary.withAliases(change.changed)) }
    }
}
