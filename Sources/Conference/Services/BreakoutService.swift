import Basics
import RoomMedia
import Threads

/// Performs what moderators and participants ask about breakout groups, and ends the groups when it is time.
package final class BreakoutService: Sendable {
    private let rooms: RoomService
    private let seats: SeatService
    private let overload: OverloadState
    /// The most views in use in each group.
    private let viewLimit: Int

    init(_ configuration: ConferenceConfiguration, rooms: RoomService, seats: SeatService, overload: OverloadState) {
        self.rooms = rooms
        self.seats = seats
        self.overload = overload
        viewLimit = configuration.limits.viewsPerRoom
    }

    /// - Parameter id: the participant who asks; nil: an administrator.
    func perform(_ request: BreakoutRequest, by id: String?, in room: String) throws(ConferenceError) {
        if let id { try seats.allow(.moderation, id) }
        try perform([request], by: id, in: room)
    }

    /// Performs several requests for an administrator, or throws and performs none.
    package func perform(_ requests: [BreakoutRequest], in room: String) throws(ConferenceError) {
        try perform(requests, by: nil, in: room)
    }

    private func perform(_ requests: [BreakoutRequest], by id: String?, in room: String) throws(ConferenceError) {
        // Each group costs as much as a room.
        if overload.refusesRooms, requests.contains(where: \.opensGroups) { throw .overloaded }
        let now = MonotonicClock.now()
        let due = try rooms.change(room) { slot throws(ConferenceError) in
            if slot.room.movingUntil != nil { throw .moving(room) }
            // The system's generator has no size, and so no address for a generic `inout`, which the thread sanitizer
            // reads.
            var random = SeededRandom(seed: .random(in: .min ... .max))
            for request in requests {
                try slot.room.breakOut(request, by: id, limit: viewLimit, at: now, using: &random)
            }
            return slot.room.breakout?.nextDeadline
        }
        watch(room, from: due)
    }

    /// Looks after the groups of a room that has come from another server.
    func watch(_ room: String) {
        watch(room, from: rooms.registry[room]?.read { $0.room.breakout?.nextDeadline } ?? nil)
    }

    private func watch(_ room: String, from due: Instant?) {
        guard let due else { return }
        rooms.control.post(at: due) { [weak self] in self?.advance(room) }
    }

    /// Called when something may be due: it may have been put off, too.
    private func advance(_ room: String) {
        let now = MonotonicClock.now()
        let due = rooms.registry[room]?.read { $0.room.breakout?.nextDeadline } ?? nil
        guard let due, due <= now else { return }
        let next = try? rooms.change(room) { slot throws(ConferenceError) in
            slot.room.advanceBreakout(to: now, limit: viewLimit)
            return slot.room.breakout?.nextDeadline
        }
        watch(room, from: next ?? nil)
    }

    package func info(of room: String) throws(ConferenceError) -> BreakoutInfo? {
        guard let found = rooms.registry[room]?.read({ $0.room.breakoutInfo(at: MonotonicClock.now()) }) else {
            throw .roomNotFound(room)
        }
        return found
    }
}

extension BreakoutRequest {
    fileprivate var opensGroups: Bool {
        if case .open = self { true } else { false }
    }
}
