import Basics
import FoundationEssentials
import Threads

/// The waiting rooms (`RoomSettings.admit`): clients that wait without a seat, and the decisions about them.
final class WaitingService: Sendable {
    private let rooms: RoomService

    init(rooms: RoomService) { self.rooms = rooms }

    /// Begins a wait for the room, which is created as for a join. Returns the wait's id.
    ///
    /// - Parameter decided: called once, on the control thread, when the wait has ended for whatever reason.
    func wait(
        for request: AdmittedJoin, _ decided: @escaping @Sendable (WaitingEnd) -> Void
    ) throws(ConferenceError) -> String {
        let id = RandomToken.make(12)
        let wait = Capacity.Wait(id: id, room: request.room)
        try rooms.registry.reserveWait(wait, for: request.client)
        do throws(ConferenceError) {
            while true {
                let (room, isNew) = try rooms.room(
                    request.room, orMakeWith: RoomSettingsChange(), for: request.client, isReserved: false)
                do throws(ConferenceError) {
                    let begun: Void? = try rooms.change(room) { slot throws(ConferenceError) in
                        slot.audience.waiters[id] = RoomAudience.Waiter(client: request.client, decided: decided)
                        let admitted = try slot.room.admitted(request, at: Date())
                        switch try slot.room.wait(admitted, id: id, at: MonotonicClock.now()) {
                        case .waits(let displaced): rooms.endWaits([displaced].compactMap { $0 }, .timeout, &slot)
                        case .mayJoin: rooms.endWaits([id], .admitted, &slot)
                        }
                    }
                    // nil: the room has just ended. The next turn finds or creates another one of that name.
                    if begun != nil { return id }
                } catch {
                    if isNew { rooms.end(request.room, reason: .roomEnded) { $0.isUnused && $0.room.isEmpty } }
                    throw error
                }
            }
        } catch {
            rooms.registry.releaseWait(wait)
            throw error
        }
    }

    /// The client does not wait any more.
    func leave(_ id: String, _ room: String) {
        _ = try? rooms.change(room) { slot throws(ConferenceError) in
            rooms.endWaits(slot.room.endWaits(id, at: MonotonicClock.now()), .left, &slot)
        }
    }

    /// Ends a wait that has lost its place to a newcomer's.
    func displace(_ id: String, _ room: String) {
        _ = try? rooms.change(room) { slot throws(ConferenceError) in
            rooms.endWaits(slot.room.endWaits(id, at: MonotonicClock.now()), .timeout, &slot)
        }
    }

    /// Refuses everybody who waits at the address of one of them, and whoever asks from there for a while.
    func refuseAddress(of person: String, in slot: inout RoomRecord) throws(ConferenceError) {
        let ids = try slot.room.refuseAddress(of: person, at: MonotonicClock.now())
        rooms.endWaits(ids, .refused, &slot)
    }

    /// Lets in or refuses one who waits, or everyone, for a moderator.
    func decide(_ decision: WaitingEnd, _ person: String?, in slot: inout RoomRecord) throws(ConferenceError) {
        if let person, !slot.room.waiting.people.contains(where: { $0.id == person }) {
            throw .participantNotFound(person)
        }
        let now = MonotonicClock.now()
        if decision == .admitted {
            for (id, waiter) in slot.audience.waiters where person == nil || id == person {
                rooms.registry.liftRemovals(of: waiter.client, in: slot.room.id)
            }
        }
        let ids = decision == .admitted ? slot.room.admit(person, at: now) : slot.room.endWaits(person, at: now)
        rooms.endWaits(ids, decision, &slot)
    }

    /// Ends the waits that took too long.
    func expire(at now: Instant) {
        for room in rooms.registry.rooms where room.read({ $0.room.waiting.isDue(at: now) }) == true {
            _ = try? rooms.change(room) { slot throws(ConferenceError) in
                rooms.endWaits(slot.room.expireWaits(at: now), .timeout, &slot)
            }
        }
    }
}
