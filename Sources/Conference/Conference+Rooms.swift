import Basics
import Codecs
import Foundation
import Peer
import RoomMedia
import Threads

extension Conference {
    // MARK: - Rooms

    public func rooms() -> [RoomInfo] {
        state.withLock { $0.rooms.values.map(Self.info).sorted { $0.createdAt < $1.createdAt } }
    }

    public func room(_ id: String) -> RoomInfo? { state.withLock { $0.rooms[id].map(Self.info) } }

    private static func info(_ slot: RoomSlot) -> RoomInfo {
        let settings = slot.room.settings
        let renditions = slot.engine.allViews.flatMap(\.allRenditions).map { rendition in
            RenditionInfo(
                codec: rendition.key.codec, width: rendition.rung.width, height: rendition.rung.height,
                framesPerSecond: rendition.rung.framesPerSecond, bitRate: rendition.bitRate, members: rendition.memberCount)
        }
        return RoomInfo(
            id: slot.room.id, settings: settings, participants: slot.room.infos,
            tiles: slot.tiles[.room] ?? TilesInfo(width: settings.width, height: settings.height, tiles: []),
            renditions: renditions.sorted { ($0.height, $0.codec.rawValue) > ($1.height, $1.codec.rawValue) },
            recording: slot.recording?.info, createdAt: slot.room.createdAt)
    }

    /// Creates the room, or changes it where it exists. Returns it, and whether it is new.
    @discardableResult
    public func createRoom(_ id: String, _ change: RoomSettingsChange) throws(ConferenceError) -> (room: RoomInfo, isNew: Bool) {
        if room(id) != nil { return (try updateRoom(id, change), false) }
        try checkLayout(change.layout)
        return try state.withLock { state throws(ConferenceError) in
            var slot = try makeRoom(id, in: &state, change, for: JoinClient())
            slot.isReserved = true
            state.rooms[id] = slot
            return (Self.info(slot), true)
        }
    }

    @discardableResult
    public func updateRoom(_ id: String, _ change: RoomSettingsChange) throws(ConferenceError) -> RoomInfo {
        try checkLayout(change.layout)
        return try self.change(id) { slot throws(ConferenceError) in
            let old = slot.room.settings
            if slot.recording != nil,
                change.width.map({ $0 != old.width }) ?? false || change.height.map({ $0 != old.height }) ?? false
            {
                throw .conflict("The size of a room cannot change while it is recorded: stop the recording first.")
            }
            try slot.room.change(change)
            return Self.info(slot)
        }
    }

    func checkLayout(_ name: String?) throws(ConferenceError) {
        if let name, layoutLibrary[name] == nil { throw .unknownLayout(name) }
    }

    /// With the state locked. The room counts for `client` from here on, until `end` or `forget`.
    func makeRoom(
        _ id: String, in state: inout State, _ change: RoomSettingsChange, for client: JoinClient
    ) throws(ConferenceError) -> RoomSlot {
        if state.isDraining { throw .draining }
        if overload.refusesRooms { throw .overloaded }
        guard (1...128).contains(id.utf8.count), !id.unicodeScalars.contains(where: { $0.value < 32 || $0 == "/" }) else {
            throw .badRequest("A room's name has 1 to 128 bytes, no slash and no control characters.")
        }
        var settings = configuration.rooms.settings
        try settings.apply(change)
        try state.capacity.add(.rooms, of: client)
        let room = Room(id: id, settings: settings, createdAt: Date(), at: MonotonicClock.now())
        let engine = RoomEngine(
            id: id, scene: RoomSlot.scene(of: room, layout: layoutOrGrid), rungs: configuration.video.renditions,
            audio: configuration.audio, services: mediaServices(),
            tilesChanged: { [weak self] view, tiles in
                self?.control.post(.tiles(room: id, view)) { [weak self] in self?.tilesChanged(id, view, tiles) }
            },
            speakersChanged: { [weak self] speakers in
                self?.control.post(.speakers(room: id)) { [weak self] in self?.speakersChanged(id, speakers) }
            })
        return RoomSlot(room: room, engine: engine, client: client)
    }

    /// Ends the call for everyone.
    public func endRoom(_ id: String) throws(ConferenceError) {
        guard state.withLock({ $0.rooms[id] }) != nil else { throw .roomNotFound(id) }
        end(id, reason: .roomEnded)
    }

    /// - Parameter condition: the room stays if this is false by now.
    func end(_ id: String, reason: LeaveReason, if condition: (RoomSlot) -> Bool = { _ in true }) {
        let slot: RoomSlot? = state.withLock { state in
            guard let slot = state.rooms[id], condition(slot) else { return nil }
            state.rooms[id] = nil
            state.capacity.remove(.rooms, of: slot.client)
            for member in slot.room.members {
                state.removeSeat(member.id)
                tell(slot, member.id, .left(reason))
            }
            return slot
        }
        guard let slot else { return }
        let members = slot.room.members.map(\.id)
        onLoop { host, now in for member in members { host.remove(member, at: now) } }
        if let recording = slot.recording { finish(recording, slot.engine) }
        slot.engine.close()
        figures.ended(at: MonotonicClock.now())
    }

    /// The current composite as PNG: one for all who ask within half a second.
    public func snapshot(_ room: String) async throws(ConferenceError) -> [UInt8] {
        guard let engine = state.withLock({ $0.rooms[room]?.engine }) else { throw .roomNotFound(room) }
        let answer = await withCheckedContinuation { (continuation: CheckedContinuation<Snapshots.Answer, Never>) in
            let ticket = snapshots.ask(room, at: MonotonicClock.now()) { continuation.resume(returning: $0) }
            guard let ticket else { return }
            let end = engine.snapshot { [snapshots] in snapshots.picture($0, of: room, ticket: ticket) }
            // A room that ends just now has no next tick.
            DispatchQueue.global().asyncAfter(deadline: .now() + 2) { [snapshots] in
                end()
                let late = ConferenceError.internalFailure("The picture of room “\(room)” did not come in time.")
                snapshots.fail(room, ticket: ticket, late)
            }
        }
        return try answer.get()
    }
}
