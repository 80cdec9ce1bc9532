import Basics
import Threads

/// Performs what participants ask about others and about the room. `RoomAction` has the rules.
final class ModerationService: Sendable {
    private let rooms: RoomService
    private let seats: SeatService
    private let waiting: WaitingService

    init(rooms: RoomService, seats: SeatService, waiting: WaitingService) {
        self.rooms = rooms
        self.seats = seats
        self.waiting = waiting
    }

    func perform(_ moderation: Moderation, by id: String, in room: String) throws(ConferenceError) {
        try seats.allow(.moderation, id)
        if case .setRecorded(_, true) = moderation { try seats.allow(.recordedAgain, id) }
        try rooms.change(room) { slot throws(ConferenceError) in
            for notice in try slot.room.moderate(moderation, by: id) { rooms.notify(slot, notice.id, notice.event) }
            switch moderation {
            case .admit(let person): try waiting.decide(.admitted, person, in: &slot)
            case .refuse(let person): try waiting.decide(.refused, person, in: &slot)
            case .refuseAddress(let person): try waiting.refuseAddress(of: person, in: &slot)
            default: break
            }
        }
        // Seats and rooms end outside of the room's lock.
        switch moderation {
        case .remove(let other): seats.leave(other, .removed)
        case .end: rooms.end(room, reason: .roomEnded)
        default: break
        }
    }

    func change(_ change: RoomSettingsChange, by id: String, in room: String) throws(ConferenceError) {
        try seats.allow(.moderation, id)
        try rooms.change(room) { slot throws(ConferenceError) in
            var allowed = RoomSettingsChange()
            if let locked = change.locked {
                try slot.room.require(.lock, id)
                allowed.locked = locked
            }
            if let layoutLocked = change.layoutLocked {
                try slot.room.require(.lockLayout, id)
                allowed.layoutLocked = layoutLocked
            }
            if let admit = change.admit {
                try slot.room.require(.admit, id)
                allowed.admit = admit
            }
            if let pin = change.pin {
                try slot.room.require(.setPIN, id)
                allowed.pin = pin
            }
            if change.changesPolicy {
                try slot.room.require(.setPolicy, id)
                (allowed.muteOnEntry, allowed.share) = (change.muteOnEntry, change.share)
                (allowed.chat, allowed.unmute) = (change.chat, change.unmute)
            }
            try slot.room.change(allowed)
        }
    }
}
