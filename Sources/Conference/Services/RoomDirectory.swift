import Basics
import RoomMedia

/// The rooms, as programs make, read, change and end them.
package final class RoomDirectory: Sendable {
    private let service: RoomService
    let snapshots: Snapshots

    init(_ service: RoomService, snapshots: Snapshots) {
        self.service = service
        self.snapshots = snapshots
    }

    /// All rooms, the oldest first.
    package func list() -> [RoomInfo] {
        service.registry.rooms.compactMap { $0.read(\.info) }.sorted { $0.createdAt < $1.createdAt }
    }
    package func room(_ id: String) -> RoomInfo? { service.registry[id]?.read(\.info) }
    /// Nothing but the settings: for what asks often.
    package func settings(of room: String) -> RoomSettings? { service.registry[room]?.read(\.room.settings) }

    /// Creates the room, or changes it where it exists. Returns the room and whether it is new.
    @discardableResult
    package func create(_ id: String, _ change: RoomSettingsChange) throws(ConferenceError) -> (
        room: RoomInfo, isNew: Bool
    ) {
        try service.checkLayouts(of: change)
        let (room, isNew) = try service.room(id, orMakeWith: change, for: .administrator, isReserved: true)
        if isNew, let info = room.read(\.info) { return (info, true) }
        return (try update(id, change), false)
    }

    @discardableResult
    package func update(_ id: String, _ change: RoomSettingsChange) throws(ConferenceError) -> RoomInfo {
        try service.checkLayouts(of: change)
        return try service.change(id) { slot throws(ConferenceError) in
            try slot.apply(change)
            return slot.info
        }
    }

    /// Ends the room and the call of everyone in it. The next one of its name has other hosts.
    package func end(_ id: String) throws(ConferenceError) {
        guard service.registry[id] != nil else { throw .roomNotFound(id) }
        service.end(id, reason: .roomEnded, isForgotten: true)
    }

    /// The current picture of one of the room's named views as PNG: one for all requests within half a second.
    package func snapshot(_ room: String, view name: String = ViewSettings.main) async throws(ConferenceError)
        -> [UInt8]
    {
        let view = ViewID(name)
        guard let engine = service.registry[room]?.engine else { throw .roomNotFound(room) }
        try service.change(room) { slot throws(ConferenceError) in
            try slot.room.requireView(name)
            slot.outputs.snapshots[view, default: 0] += 1
        }
        defer {
            _ = try? service.change(room) { slot throws(ConferenceError) in
                let left = (slot.outputs.snapshots[view] ?? 1) - 1
                slot.outputs.snapshots[view] = left > 0 ? left : nil
            }
        }
        return try await snapshots.png(of: room, view, engine)
    }
}
