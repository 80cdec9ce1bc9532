import Basics
import Foundation
import Mixing
import RoomMedia
import Threads

/// How a room changes: every change goes through `change`, which tells everyone what is new and lets the media follow.
extension Conference {
    /// The room of an id changes by `body`; who must know is told, in order.
    @discardableResult
    func change<Result>(
        _ room: String, _ body: (inout RoomSlot) throws(ConferenceError) -> Result
    ) throws(ConferenceError) -> Result {
        try state.withLock { state throws(ConferenceError) in
            guard var slot = state.rooms[room] else { throw .roomNotFound(room) }
            let old = slot.room
            let oldViews = slot.views
            let result = try body(&slot)
            publish(&slot, since: old, oldViews)
            state.rooms[room] = slot
            return result
        }
    }

    /// The room of a participant.
    func changeRoom<Result>(
        of participant: String, _ body: (inout RoomSlot) throws(ConferenceError) -> Result
    ) throws(ConferenceError) -> Result {
        guard let room = state.withLock({ $0.seats[participant]?.room }) else { throw .participantNotFound(participant) }
        return try change(room, body)
    }

    /// With the state locked.
    func publish(_ slot: inout RoomSlot, since old: Room, _ oldViews: [String: ViewID]) {
        for event in slot.room.news(since: old) { tellAll(slot, event) }
        let views = slot.views
        for member in slot.room.members {
            let was = old.member(member.id)
            if let was, was.role != member.role { tell(slot, member.id, .role(member.role)) }
            if let was, was.view != member.view {
                tell(slot, member.id, .layout(member.view?.layout ?? slot.room.settings.layout))
            }
            if let was, was.mayTalk != member.mayTalk {
                onLoop { [id = member.id, mayTalk = member.mayTalk] host, _ in host.setMayTalk(id, mayTalk) }
            }
        }
        let reshaped = slot.engine.apply(slot.scene(layout: layoutOrGrid))
        let kept = slot.room.personalViews
        slot.tiles = slot.tiles.filter { view, _ in
            if case .personal(let view) = view { kept.contains(view) } else { true }
        }
        for (id, view) in views {
            if let before = oldViews[id], before != view, let tiles = slot.tiles[view] { tell(slot, id, .tiles(tiles)) }
        }
        slot.engine.setMessageListeners(slot.listeners.values.contains(where: \.receivesMessages))
        if reshaped || views.contains(where: { oldViews[$0.key] != nil && oldViews[$0.key] != $0.value }) {
            let id = slot.room.id
            onLoop { host, _ in host.refresh(id, views: views) }
        }
        updateLimits(&slot)
    }

    /// With the state locked.
    private func updateLimits(_ slot: inout RoomSlot) {
        let limits = slot.newLimits()
        if limits.isEmpty { return }
        onLoop { host, now in
            for (id, limit) in limits { host.setReceiveLimit(limit, of: id, at: now) }
        }
    }

    /// A layout that was deleted while in use is replaced by the grid.
    func layoutOrGrid(_ name: String) -> Layout? { layoutLibrary[name] ?? layoutLibrary["grid"] }

    // MARK: - Telling

    func tell(_ slot: RoomSlot, _ participant: String, _ event: ParticipantEvent) {
        if let mailbox = slot.listeners[participant]?.mailbox { put(event, in: mailbox) }
    }

    func tellAll(_ slot: RoomSlot, _ event: ParticipantEvent) {
        for listener in slot.listeners.values { put(event, in: listener.mailbox) }
    }

    func tell(_ participant: String, _ event: ParticipantEvent) {
        state.withLock { state in
            guard let room = state.seats[participant]?.room, let slot = state.rooms[room] else { return }
            tell(slot, participant, event)
        }
    }

    private func put(_ event: ParticipantEvent, in mailbox: EventMailbox) {
        if mailbox.put(event) { deliver(mailbox) }
    }

    private func deliver(_ mailbox: EventMailbox) {
        control.post { [weak self] in if mailbox.run() { self?.deliver(mailbox) } }
    }

    // MARK: - What media tells (on the control thread)

    func mediaChanged(_ participant: String, _ isConnected: Bool, since: Instant) {
        _ = try? changeRoom(of: participant) { slot throws(ConferenceError) in
            slot.room.media(participant, isConnected: isConnected, at: since)
            tell(slot, participant, .connection(isConnected))
        }
        if isConnected { state.withLock { $0.endHalfOpen(participant) } }
    }

    /// The connection is over for good. Who has a door of their own may offer anew; others have left.
    ///
    /// - Parameter why: a sentence for the log; nil where the peer said goodbye.
    func mediaEnded(_ participant: String, _ reason: LeaveReason, _ why: String?) {
        let found = state.withLock { state -> (Member, String)? in
            state.endHalfOpen(participant)
            guard let room = state.seats[participant]?.room, let member = state.rooms[room]?.room.member(participant) else { return nil }
            return (member, room)
        }
        guard let (member, room) = found else { return }
        if let why { figures.peerFailed(why, reason, participant: participant, room: room, logger) }
        if member.endsWithMedia || !member.hasSignalling || member.signallingLostAt != nil || reason == .overBudget {
            leave(participant, reason)
        }
    }

    func relayed(_ message: RelayedMessage, in room: String) {
        state.withLock { state in
            guard let slot = state.rooms[room] else { return }
            for (id, listener) in slot.listeners where listener.receivesMessages && id != message.from {
                put(.message(message), in: listener.mailbox)
            }
        }
    }

    func tilesChanged(_ room: String, _ view: ViewID, _ tiles: TilesInfo) {
        state.withLock { state in
            guard var slot = state.rooms[room], slot.tiles[view] != tiles else { return }
            slot.tiles[view] = tiles
            for id in slot.listeners.keys where slot.view(of: id) == view { tell(slot, id, .tiles(tiles)) }
            updateLimits(&slot)
            state.rooms[room] = slot
        }
    }

    func speakersChanged(_ room: String, _ speakers: Speakers) {
        _ = try? change(room) { slot throws(ConferenceError) in
            slot.room.speakers(active: speakers.active, ranks: speakers.ranks, speaking: speakers.speaking)
        }
    }

    // MARK: - Time

    /// A peer that did not connect in time is forgotten. Who has signalling may offer anew; others have left.
    private func giveUpConnecting(_ id: String) {
        let staysSeated = state.withLock { state in
            state.endHalfOpen(id)
            let member = state.seats[id].flatMap { state.rooms[$0.room]?.room.member(id) }
            return member.map { $0.hasSignalling && !$0.endsWithMedia && $0.signallingLostAt == nil } ?? false
        }
        if staysSeated {
            onLoop { host, now in if host.seat(id)?.isConnected == false { host.remove(id, at: now) } }
        } else {
            leave(id, .timeout)
        }
    }

    /// A few times a second, on the control thread.
    func keepHouse(at now: Instant) {
        let (expired, abandoned, unconnected) = state.withLock { state in
            var expired: [String] = []
            var abandoned: [String] = []
            let unconnected = state.unconnected(at: now)
            for (id, slot) in state.rooms {
                expired += slot.room.expired(at: now)
                let stays = slot.isReserved || configuration.rooms.create == .api
                if !stays, slot.room.isAbandoned(after: configuration.rooms.emptyTimeout, at: now) { abandoned.append(id) }
            }
            return (expired, abandoned, unconnected)
        }
        for id in expired { leave(id, .timeout) }
        for id in abandoned { end(id, reason: .roomEnded) }
        for id in unconnected { giveUpConnecting(id) }
        if figures.mustReleaseMemory(at: now) { SystemMemory.release() }
        if figures.isDue(.snapshots, every: .seconds(1), at: now) { snapshots.forgetOld(at: now) }
        if figures.isDue(.layouts, every: .seconds(1), at: now) { pollLayouts() }
        watchRecordings(at: now)
        if configuration.savesWorkWhenOverloaded, figures.isDue(.overload, every: .seconds(1), at: now),
            let level = overload.evaluate(at: now)
        {
            logger.warning("overload: \(level)")
            let ceiling = level >= .noTopRung ? 1 : 0
            onLoop { host, _ in host.setCeiling(ceiling) }
        }
    }
}
