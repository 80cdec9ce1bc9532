import Basics
import RoomMedia
import Threads

/// One room of the server: its state behind a lock of its own, so that nothing waits for another room.
///
/// Locks are taken in this order: a room's, the registry's, those of the room's media and mailboxes. Nobody holds two
/// rooms' at once.
final class HostedRoom: Sendable {
    let id: String
    let engine: RoomEngine
    /// Whom the room is counted for; nobody's address where the API made it.
    let client: JoinClient
    private let slot: Guarded<RoomSlot>

    init(_ slot: RoomSlot, client: JoinClient) {
        id = slot.room.id
        engine = slot.engine
        self.client = client
        self.slot = Guarded(slot)
    }

    /// What `body` reads; nil where the room has ended.
    func read<Result>(_ body: (RoomSlot) throws(ConferenceError) -> Result) throws(ConferenceError) -> Result? {
        try slot.withLock { slot throws(ConferenceError) in slot.isOver ? nil : try body(slot) }
    }

    /// The same for what cannot fail.
    func read<Result>(_ body: (RoomSlot) -> Result) -> Result? { slot.withLock { $0.isOver ? nil : body($0) } }

    /// The room changes by `body`, or stays as it was where that throws. Nil where the room has ended.
    func change<Result>(_ body: (inout RoomSlot) throws(ConferenceError) -> Result) throws(ConferenceError) -> Result? {
        try slot.withLock { slot throws(ConferenceError) in
            if slot.isOver { return nil }
            var changed = slot
            let result = try body(&changed)
            slot = changed
            return result
        }
    }

    /// Ends the room: nobody reads or changes it from here on. Returns its last state; nil where it has ended already,
    /// or is not to.
    ///
    /// - Parameter last: is run with the lock held, before anybody else can know.
    func end(if condition: (RoomSlot) -> Bool, _ last: (RoomSlot) -> Void) -> RoomSlot? {
        slot.withLock { slot in
            guard !slot.isOver, condition(slot) else { return nil }
            last(slot)
            slot.isOver = true
            return slot
        }
    }
}
