import Basics
import RoomMedia
import Threads

/// One room of the server: its state behind a lock of its own, so that no room waits for another.
///
/// Locks are taken in this order: a room's, the registry's, those of the room's media and mailboxes. No thread holds
/// two rooms' locks at once.
final class LiveRoom: Sendable {
    let id: String
    let engine: RoomEngine
    /// The client for whose limits the room counts; without an address where the API created the room.
    let client: JoinClient
    private let slot: Guarded<RoomRecord>
    private let watch: RoomObserverSlot

    init(_ slot: RoomRecord, client: JoinClient, watch: RoomObserverSlot) {
        self.watch = watch
        id = slot.room.id
        engine = slot.engine
        self.client = client
        self.slot = Guarded(slot)
    }

    /// Returns the result of `body`; nil where the room has ended.
    func read<Result>(_ body: (RoomRecord) throws(ConferenceError) -> Result) throws(ConferenceError) -> Result? {
        try slot.withLock { slot throws(ConferenceError) in slot.isOver ? nil : try body(slot) }
    }

    /// The same for a `body` that cannot fail.
    func read<Result>(_ body: (RoomRecord) -> Result) -> Result? { slot.withLock { $0.isOver ? nil : body($0) } }

    /// Changes the room by `body`; the room stays as it was where `body` throws. Returns nil where the room has ended.
    ///
    /// - Parameter keepsState: whether `body` changes nothing of what another server would have to know of the room.
    func change<Result>(
        keepsState: Bool = false, _ body: (inout RoomRecord) throws(ConferenceError) -> Result
    ) throws(ConferenceError) -> Result? {
        var hasStateChanged = false
        let result = try slot.withLock { slot throws(ConferenceError) -> Result? in
            if slot.isOver { return nil }
            var changed = slot
            let result = try body(&changed)
            hasStateChanged = !keepsState && watch.isOn && changed.differsInState(from: slot)
            slot = changed
            return result
        }
        if hasStateChanged { watch.changed(id) }
        return result
    }

    /// Ends the room, which cannot be read or changed from here on. Returns its last state; nil where it has ended
    /// already or `condition` is false.
    ///
    /// - Parameter last: runs with the lock held, before the end is visible to others.
    func end(if condition: (RoomRecord) -> Bool, _ last: (inout RoomRecord) -> Void) -> RoomRecord? {
        slot.withLock { slot in
            guard !slot.isOver, condition(slot) else { return nil }
            last(&slot)
            slot.isOver = true
            return slot
        }
    }
}
