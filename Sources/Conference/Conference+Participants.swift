import Basics
import Foundation
import Sockets
import Peer

extension Conference {
    // MARK: - Coming

    /// Gives a seat in a room, which is made where it does not exist yet and may be. `events` come in order, on
    /// a thread of ours; the first may come before this returns.
    public func join(
        _ request: JoinRequest, events: @escaping @Sendable (ParticipantEvent) -> Void
    ) throws(ConferenceError) -> Participant {
        if let layout = request.layout, request.role != .viewer { try checkLayout(layout) }
        let id = Self.token(12)
        let secret = Self.token(32)
        let now = MonotonicClock.now()
        let mustRecord = try state.locked { state throws(ConferenceError) in
            if state.isDraining { throw .draining }
            var slot: RoomSlot
            let isNew = state.rooms[request.room] == nil
            if let known = state.rooms[request.room] {
                slot = known
            } else {
                if configuration.rooms.create == .api { throw .roomNotFound(request.room) }
                slot = try makeRoom(request.room, in: state, RoomSettingsChange())
            }
            let old = slot.room
            let views = slot.views
            do throws(ConferenceError) {
                let member = try slot.room.join(request, id: id, secret: secret, at: now)
                if let layout = request.layout, member.role != .viewer, member.kind == .participant {
                    try slot.room.setLayout(layout, scope: .room, pins: nil, by: id)
                }
            } catch {
                if isNew { slot.engine.close() }
                throw error
            }
            slot.firstGuest = isNew || slot.isReserved ? (id, !isNew) : nil
            slot.isReserved = false
            _ = slot.engine.add(id, hearsAs: request.asParticipant ?? id) { [weak self] in
                self?.onLoop { $0.requestKeyframe(from: id, at: $1) }
            }
            slot.listeners[id] = RoomSlot.Listener(
                events: events, receivesMessages: request.receivesMessages, opensChannels: request.opensChannels)
            publish(&slot, since: old, views)
            if let tiles = slot.tiles[slot.view(of: id)] { tell(slot, id, .tiles(tiles)) }
            if let speaker = slot.room.speaker { tell(slot, id, .speaker(speaker)) }
            state.rooms[request.room] = slot
            state.roomOf[id] = request.room
            return configuration.recording.start == .onFirstJoin && slot.recording == nil && slot.room.members.count == 1
        }
        if mustRecord {
            // Nobody waits for the disk.
            Task { [self] in
                do { try await startRecording(request.room) } catch { logger.error("recording of \(request.room): \(error)") }
            }
        }
        return Participant(id: id, room: request.room, resumeSecret: secret, conference: self)
    }

    /// Takes a seat back after signalling was lost.
    public func resume(
        id: String, secret: String, events: @escaping @Sendable (ParticipantEvent) -> Void
    ) throws(ConferenceError) -> Participant {
        guard let room = state.locked({ $0.roomOf[id] }) else {
            throw .unauthorized("This seat is not kept any more: join anew.")
        }
        try change(room) { slot throws(ConferenceError) in
            try slot.room.resume(id, secret: secret)
            slot.listeners[id]?.events = events
            if let tiles = slot.tiles[slot.view(of: id)] { tell(slot, id, .tiles(tiles)) }
            tell(slot, id, .speaker(slot.room.speaker))
        }
        return Participant(id: id, room: room, resumeSecret: secret, conference: self)
    }

    /// Letters and digits, from the system's generator of secrets.
    static func token(_ count: Int) -> String {
        let alphabet = Array("abcdefghijkmnpqrstuvwxyz23456789".utf8)
        var generator = SystemRandomNumberGenerator()
        return String(
            decoding: (0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] }, as: UTF8.self)
    }

    // MARK: - Seen from outside

    public func participant(_ id: String, in room: String) throws(ConferenceError) -> ParticipantInfo {
        try state.locked { state throws(ConferenceError) in
            guard let slot = state.rooms[room] else { throw .roomNotFound(room) }
            guard let member = slot.room.member(id) else { throw .participantNotFound(id) }
            return member.info
        }
    }

    @discardableResult
    public func updateParticipant(
        _ id: String, in room: String, _ change: ParticipantChange
    ) throws(ConferenceError) -> ParticipantInfo {
        try self.change(room) { slot throws(ConferenceError) in try slot.room.change(id, change) }
    }

    public func removeParticipant(_ id: String, in room: String) throws(ConferenceError) {
        _ = try participant(id, in: room)
        leave(id, .removed)
    }

    // MARK: - Going

    func leave(_ id: String, _ reason: LeaveReason) {
        let isGone: Bool? = try? changeRoom(of: id) { slot throws(ConferenceError) in
            tell(slot, id, .left(reason))
            slot.listeners[id] = nil
            slot.limits[id] = nil
            slot.engine.remove(id)
            return slot.room.leave(id, at: MonotonicClock.now())
        }
        guard isGone == true else { return }
        state.locked { $0.roomOf[id] = nil }
        onLoop { host, now in host.remove(id, at: now) }
    }

    /// Undoes a join that led to nothing: the room is as before, and one that was made for it is gone.
    func withdraw(_ id: String) {
        guard let room = state.locked({ $0.roomOf[id] }) else { return }
        leave(id, .left)
        state.locked { state in
            guard let slot = state.rooms[room], slot.firstGuest?.id == id, slot.room.members.isEmpty else { return }
            state.rooms[room]?.isReserved = slot.firstGuest?.foundRoom ?? false
        }
        end(room, reason: .roomEnded) { $0.room.members.isEmpty && $0.firstGuest.map { $0.id == id && !$0.foundRoom } ?? false }
    }

    // MARK: - Descriptions

    /// What a seat on the loop is made of.
    private struct Plan: Sendable {
        var engine: RoomEngine
        var intake: Intake
        var view: ViewID
        var opensChannels: [String]
        var limit: SenderLimit?
        var isViewer: Bool
    }

    private func plan(_ id: String) throws(ConferenceError) -> Plan {
        try state.locked { state throws(ConferenceError) in
            guard let room = state.roomOf[id], let slot = state.rooms[room], let intake = slot.engine.intake(id),
                let member = slot.room.member(id)
            else { throw .participantNotFound(id) }
            return Plan(
                engine: slot.engine, intake: intake, view: slot.view(of: id),
                opensChannels: slot.listeners[id]?.opensChannels ?? [],
                limit: slot.limits[id], isViewer: member.kind == .viewer)
        }
    }

    /// The seat of a participant, on the loop; made where it has none yet.
    private func seat(_ id: String, _ plan: Plan, _ host: PeerHost, _ now: Instant) throws(ConferenceError) -> PeerSeat {
        if let seat = host.seat(id) { return seat }
        // Who left while this waited for the loop gets none.
        guard state.locked({ $0.roomOf[id] }) != nil else { throw .participantNotFound(id) }
        let seat = PeerSeat(
            id: id, peer: try makePeer(plan.isViewer, at: now), engine: plan.engine, intake: plan.intake, view: plan.view,
            opensChannels: plan.opensChannels)
        host.add(seat)
        if let limit = plan.limit { host.setReceiveLimit(limit, of: id, at: now) }
        return seat
    }

    func answer(_ id: String, offer: String) async throws(ConferenceError) -> String {
        let plan = try plan(id)
        return try await fromLoop { [self] host, now in
            do throws(ConferenceError) {
                if let seat = host.seat(id), seat.peer.isEnded || seat.lastOffer.map({ Self.isOther($0, offer) }) ?? false {
                    // A reloaded page: another connection of the same participant.
                    host.remove(id, at: now)
                }
                let isNew = host.seat(id) == nil
                let seat = try seat(id, plan, host, now)
                do {
                    let answer = try seat.peer.answer(offer, at: now)
                    seat.lastOffer = offer
                    host.updateUfrags(seat)
                    host.negotiated(seat, at: now)
                    return .success(answer)
                } catch {
                    if isNew { host.remove(id, at: now) }
                    throw Self.translate(error)
                }
            } catch {
                return .failure(error)
            }
        }
    }

    func makeOffer(_ id: String) async throws(ConferenceError) -> String {
        let plan = try plan(id)
        return try await fromLoop { [self] host, now in
            do throws(ConferenceError) {
                let seat = try seat(id, plan, host, now)
                let offer = seat.peer.makeOffer(at: now, iceRestart: false)
                host.updateUfrags(seat)
                host.touch(seat)
                return .success(offer)
            } catch {
                return .failure(error)
            }
        }
    }

    func accept(_ id: String, answer: String) async throws(ConferenceError) {
        try await fromLoop { host, now -> Result<Void, ConferenceError> in
            guard let seat = host.seat(id) else { return .failure(.badSDP("There is no offer to answer.")) }
            do {
                try seat.peer.accept(answer: answer, at: now)
                host.updateUfrags(seat)
                host.negotiated(seat, at: now)
                return .success(())
            } catch {
                return .failure(Self.translate(error))
            }
        }
    }

    /// New ICE credentials: the last offer again, with the client's new ones in it.
    func restartIce(_ id: String, ufrag: String, password: String) async throws(ConferenceError) -> Participant.IceRestart {
        let offer = try await fromLoop { host, _ -> Result<String, ConferenceError> in
            guard let offer = host.seat(id)?.lastOffer else { return .failure(.badSDP("There is nothing to restart.")) }
            return .success(offer)
        }
        let renewed = offer.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }.map { line -> String in
            if line.hasPrefix("a=ice-ufrag:") { return "a=ice-ufrag:\(ufrag)" }
            if line.hasPrefix("a=ice-pwd:") { return "a=ice-pwd:\(password)" }
            return line.hasSuffix("\r") ? String(line.dropLast()) : String(line)
        }.filter { !$0.hasPrefix("a=candidate:") }.joined(separator: "\r\n")
        let answer = try await answer(id, offer: renewed)
        var restart = Participant.IceRestart(ufrag: "", password: "", candidates: [])
        for line in answer.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("a=ice-ufrag:") { restart.ufrag = String(line.dropFirst(12)) }
            if line.hasPrefix("a=ice-pwd:") { restart.password = String(line.dropFirst(10)) }
            let candidate = String(line.dropFirst(2))
            if line.hasPrefix("a=candidate:"), !restart.candidates.contains(candidate) { restart.candidates.append(candidate) }
        }
        return restart
    }

    /// Another certificate is another connection.
    static func isOther(_ old: String, _ new: String) -> Bool {
        func fingerprints(_ sdp: String) -> Set<Substring> {
            Set(sdp.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("a=fingerprint:") })
        }
        return fingerprints(old).isDisjoint(with: fingerprints(new))
    }

    static func translate(_ error: any Error) -> ConferenceError {
        guard let error = error as? SDPError else { return .internalFailure("\(error)") }
        return switch error.code {
        case .malformed: .badSDP(error.description)
        case .noCommonCodec: .noCommonCodec(error.description)
        }
    }
}
