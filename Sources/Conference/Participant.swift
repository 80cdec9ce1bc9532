import Basics
import Peer
import RoomMedia
import Threads

/// One seat in a room, as its endpoint holds it.
package final class Participant: Sendable {
    package let id: String
    package let room: String
    /// With the id, the secret that resumes the seat after signalling was lost.
    package let resumeSecret: String
    private let conference: Conference

    init(id: String, room: String, resumeSecret: String, conference: Conference) {
        self.id = id
        self.room = room
        self.resumeSecret = resumeSecret
        self.conference = conference
    }

    /// nil once the participant has left.
    package var info: ParticipantInfo? { try? conference.people.info(id, in: room) }
    /// What the participant sees.
    package var shown: ShownLayout { slot { $0.room.shown($0.view(of: id)) } ?? ShownLayout(name: "") }
    /// The names of the room's views, `main` first.
    package var views: [String] { slot { $0.room.settings.viewNames } ?? [] }
    package var participants: [ParticipantInfo] { slot { $0.room.infos } ?? [] }
    /// The recordings of the participant's group that run or are paused, in the order of their starts.
    package var runningRecordings: [RecordingInfo] {
        slot { slot in
            slot.outputs.running.filter { $0.group == slot.room.place(of: id) }.map(\.info.withoutTracks)
        } ?? []
    }
    /// The one of them that clients of a single recording are shown.
    package var recording: RecordingInfo? { runningRecordings.shown }
    /// Whether the room is streamed to another server.
    package var isStreamed: Bool { slot { $0.room.isStreamed } ?? false }
    /// The time that a recording of the room would begin before its start (`recording.preRoll`).
    package var preRoll: Duration { conference.configuration.recording.preRoll }
    /// The key by which the participant is a host of the room; nil: it is none, or the server knows the key's digest alone.
    package var hostKey: String? { slot { $0.room.member(id)?.hostKey?.text } ?? nil }
    /// What moderators have set about the room.
    package var access: RoomAccess { slot { $0.room.settings.access } ?? RoomAccess() }
    /// Whether the room is about to be recorded: because this participant is its first (`recording.start`), or because it
    /// was recorded where it comes from.
    package var startsRecording: Bool {
        let startsWithFirst = conference.configuration.recording.start == .onFirstJoin
        return slot { slot in
            if !slot.outputs.pending.recordings.isEmpty { return true }
            return startsWithFirst && slot.outputs.running.isEmpty && slot.room.isFirst(id)
        } ?? false
    }
    /// The latest messages of the room's chat to all of the participant's group, the oldest first. Some of them may come
    /// as events too.
    package var chatHistory: [ChatMessage] { slot { $0.history.messages(in: $0.room.place(of: id).number) } ?? [] }
    /// What the participant is to know of breakout groups; nil: there are none.
    package var breakout: BreakoutNotice? {
        slot { slot in
            guard let info = slot.room.breakoutInfo(at: MonotonicClock.now()) else { return nil }
            return slot.room.member(id).map { slot.room.breakoutNotice(for: $0, info) }
        } ?? nil
    }

    /// Whether the seat has, or had and may get back, the media connection of a client. A client that comes back to a seat
    /// without one needs a new connection.
    package var hasMedia: Bool {
        slot { slot in slot.room.member(id).map { $0.wasConnected } ?? false } ?? false
    }

    private func slot<Result>(_ body: (RoomRecord) -> Result) -> Result? {
        conference.registry[room]?.read(body)
    }

    // MARK: - Media

    /// Answers the client's offer, the first or a later one.
    package func offer(_ sdp: String) async throws(ConferenceError) -> SDPAnswer {
        let (answer, hasScreen) = try await conference.peers.answer(id, offer: sdp)
        // Offers without a change here, the most by far, cost no change of the room.
        if slot({ $0.room.member(id)?.hasScreenSection }) != hasScreen {
            try change { slot throws(ConferenceError) in slot.room.negotiated(id, hasScreenSection: hasScreen) }
        }
        return answer
    }

    /// Makes the server's offer, for clients that answer instead of offering.
    ///
    /// - Parameter restartsICE: requests a new path for a connection that exists already; its media goes on meanwhile.
    package func makeOffer(restartsICE: Bool = false) async throws(ConferenceError) -> String {
        try await conference.peers.makeOffer(id, restartsICE: restartsICE)
    }
    package func accept(answer: String) async throws(ConferenceError) {
        try await conference.peers.accept(id, answer: answer)
    }

    /// Takes a candidate line of the client (`candidate:…`), or nil at the end of them. An unreadable line is ignored.
    package func addCandidate(_ line: String?) { conference.peers.addCandidate(line, of: id) }

    /// Exchanges new ICE credentials without a whole offer (RFC 9725 §4.3.3).
    package func restartICE(ufrag: String, password: String) async throws(ConferenceError) -> ICERestart {
        try await conference.peers.restartICE(id, ufrag: ufrag, password: password)
    }

    // MARK: - Requests

    private func change<Result>(_ body: (inout RoomRecord) throws(ConferenceError) -> Result) throws(ConferenceError)
        -> Result
    {
        try conference.roomService.change(room, body)
    }

    /// Sets the client's own switches; nil leaves one as it is.
    package func setState(audio: Bool? = nil, video: Bool? = nil, hand: Bool? = nil) throws(ConferenceError) {
        try conference.seats.allow(.state, id)
        try change { slot throws(ConferenceError) in
            let reason = try slot.room.setState(id, audio: audio, video: video, hand: hand)
            if let reason { conference.roomService.notify(slot, id, .keptMuted(reason)) }
        }
    }

    /// Sets the room's layout or the participant's own. Pinned participants (`pins`) get the first slots, in order.
    ///
    /// - Parameter name: nil: the layout that the participant sees. For `me` and without `pins`, nil ends the
    ///   participant's own choice.
    package func setLayout(_ name: String?, scope: LayoutScope, pins: [String]? = nil) throws(ConferenceError) {
        try conference.seats.allow(.layout, id)
        try conference.roomService.checkLayout(name)
        switch scope {
        case .room:
            let name = name ?? shown.name
            try change { slot throws(ConferenceError) in try slot.room.setLayout(name, pins: pins, by: id) }
        case .me:
            try changePicture { room, limit throws(ConferenceError) in
                try room.choose(room.choice(name, pins: pins, by: id), by: id, limit: limit)
            }
        }
    }

    /// Shows the participant another of the room's named views. Its own choice of a layout stays.
    package func setView(_ name: String) throws(ConferenceError) {
        try conference.seats.allow(.layout, id)
        try changePicture { room, limit throws(ConferenceError) in try room.show(name, to: id, limit: limit) }
    }

    /// Changes what the participant sees by `body`, which gets the limit of the room's views.
    private func changePicture(_ body: (inout Room, _ limit: Int) throws(ConferenceError) -> Void)
        throws(ConferenceError)
    {
        let limit = conference.configuration.limits.viewsPerRoom
        do throws(ConferenceError) {
            try change { slot throws(ConferenceError) in
                let used = slot.usedViews
                try body(&slot.room, limit)
                try conference.seats.allowView(slot.view(of: id), id, besides: used)
            }
        } catch {
            if case .atCapacity = error { conference.registry.count(.total) }
            throw error
        }
    }

    /// Sets whether the participant shares a screen: its second video section, or, without one, its only one.
    ///
    /// - Parameter audio: whether its audio carries the sound of the screen too, and is heard with the microphone off.
    package func present(_ on: Bool, audio: Bool = false) throws(ConferenceError) {
        try conference.seats.allow(.state, id)
        try change { slot throws(ConferenceError) in try slot.room.present(id, on, audio: audio) }
    }

    /// Sets whether the participant itself wants to be in recordings, streams and whatever else leaves the room.
    package func setRecorded(_ isRecorded: Bool) throws(ConferenceError) {
        if isRecorded {
            try conference.seats.allow(.recordedAgain, id)
        } else if isUnwilling {
            // A refusal is never too much: only the first one after an agreement costs the room anything.
            return
        }
        try change { slot throws(ConferenceError) in try slot.room.setRecorded(id, isRecorded, by: .own) }
    }

    private var isUnwilling: Bool {
        conference.registry[room]?.read { $0.room.member(id)?.unrecordedBy.contains(.own) == true } ?? false
    }

    /// Sends a chat message to everyone of the participant's group, or to one participant and, as a confirmation, to the
    /// sender.
    ///
    /// - Parameter all: of moderators: to all groups.
    package func chat(_ text: String, to other: String? = nil, all: Bool = false) throws(ConferenceError) {
        try conference.chat.send(text, by: id, in: room, to: other, all: all)
    }

    /// Stores a picture (`ChatPicture.Format`, at most `ChatPicture.maxBytes`) and sends it likewise.
    @discardableResult
    package func sendPicture(_ bytes: [UInt8], to other: String? = nil) async throws(ConferenceError) -> ChatPicture {
        try await conference.chat.send(picture: bytes, by: id, in: room, to: other)
    }

    /// Gives the participant the avatar of a PNG or JPEG file; nil takes it away.
    package func setAvatar(_ file: [UInt8]?) async throws(ConferenceError) {
        try conference.seats.allow(.picture, id)
        try await conference.avatars.set(file, of: id, in: room)
    }

    package enum RecordAction: String, Sendable { case start, pause, resume, stop }

    /// Starts, pauses, resumes or stops a recording of the participant's group. A stop completes in the background; the
    /// `recording` event reports its end.
    ///
    /// - Parameters:
    ///   - recording: its id; nil: the one that is shown, and to resume the first that is paused.
    ///   - group: of a start: the number of the breakout group that is to be recorded, for moderators; nil: the
    ///     participant's own.
    package func record(
        _ action: RecordAction, _ recording: String? = nil, group: Int? = nil
    ) async throws(ConferenceError) {
        let current: String?
        var wish: RecordingRequest?
        do throws(ConferenceError) {
            (current, wish) = try change { slot throws(ConferenceError) -> (String?, RecordingRequest?) in
                let place = slot.room.place(of: id).number
                if let group, group != place { try slot.room.require(.breakOut, id) }
                let number = group ?? place
                return (
                    try chosen(recording, action, slot)?.id, number == 0 ? nil : RecordingRequest(group: number)
                )
            }
        } catch {
            conference.recordings.log.recordingRefused(error, room: room, by: id)
            throw error
        }
        if action == .start {
            try await conference.recordings.start(room, wish, by: id)
            return
        }
        guard let current else { throw notRecorded(recording) }
        switch action {
        case .pause: try conference.recordings.pause(current)
        case .resume: try conference.recordings.resume(current)
        case .stop: Task { [conference] in _ = try? await conference.recordings.stop(current) }
        case .start: break
        }
    }

    /// The recording with this id, or the one that the action is about; nil: there is none. Throws where the participant
    /// may not control it.
    private func chosen(
        _ recording: String?, _ action: RecordAction, _ slot: RoomRecord
    ) throws(ConferenceError) -> RoomRecording? {
        let mine = slot.room.member(self.id).map { slot.room.recordings(of: $0) } ?? []
        let paused = action == .resume ? mine.first { $0.state == .paused }?.id : nil
        let id = recording ?? paused
        let found = id.map { slot.recording($0) } ?? slot.recording(seenBy: self.id)
        try slot.room.require(.record, self.id, isOwn: found?.startedBy == self.id)
        return found
    }

    private func notRecorded(_ recording: String?) -> ConferenceError {
        recording.map { .recordingNotRunning($0) } ?? .conflict("Room “\(room)” is not being recorded.")
    }

    /// Sets a mark in all recordings of the participant's group that it may control, which becomes a chapter.
    package func mark(_ text: String) throws(ConferenceError) {
        let current = try change { slot throws(ConferenceError) in
            let here = slot.outputs.running.filter { $0.group == slot.room.place(of: id) }
            let mine = here.filter { (try? slot.room.require(.record, id, isOwn: $0.startedBy == id)) != nil }
            if mine.isEmpty { try slot.room.require(.record, id, isOwn: false) }
            return mine.map(\.id)
        }
        if current.isEmpty { throw notRecorded(nil) }
        for recording in current { try conference.recordings.mark(recording, text, by: id) }
    }

    /// Performs a request about others, if the participant's role allows it.
    package func moderate(_ moderation: Moderation) throws(ConferenceError) {
        try conference.moderation.perform(moderation, by: id, in: room)
    }

    /// Performs a request about breakout groups, if the participant may.
    package func breakOut(_ request: BreakoutRequest) throws(ConferenceError) {
        try conference.breakouts.perform(request, by: id, in: room)
    }

    /// Changes the room's settings of `RoomAccess`, if the participant's role allows it; others are left alone.
    package func changeRoom(_ change: RoomSettingsChange) throws(ConferenceError) {
        try conference.moderation.change(change, by: id, in: room)
    }

    /// The recordings of the present meeting, the newest first: all for those who may record, and for others those that
    /// they started.
    package func recordings() throws(ConferenceError) -> [RecordingInfo] {
        let known = try conference.registry[room]?.read { slot throws(ConferenceError) in
            let open = slot.recordings.entries.filter { entry in
                (try? slot.room.require(.record, id, isOwn: entry.startedBy == id)) != nil
            }
            if open.isEmpty { try slot.room.require(.record, id, isOwn: false) }
            return open
        }
        guard let known else { throw .roomNotFound(room) }
        return known.reversed().compactMap { conference.recordings.recording($0.id) }
    }

    /// The ids of the meeting's recordings that are this participant's to keep: all for a moderator, and for others
    /// those that they started.
    package func ownRecordings() -> Set<String> {
        let own = conference.registry[room]?.read { slot in
            let isHost = slot.room.member(id)?.effectiveRole == .moderator
            return slot.recordings.entries.filter { isHost || $0.startedBy == id }.map(\.id)
        }
        return Set(own ?? [])
    }

    /// Undoes the join: a room that was created for it ends too.
    package func withdraw() { conference.seats.withdraw(id) }

    /// Reports that the client leaves since its page is closed, perhaps to be loaded again: `leave` follows.
    package func mayReturn() { _ = try? change { slot throws(ConferenceError) in try slot.room.mayReturn(id) } }

    package func leave(_ reason: LeaveReason = .left) { conference.seats.leave(id, reason) }

    /// Reports the loss of the client's signalling: the seat stays for 15 s, for `resume`.
    package func signallingLost() {
        _ = try? change { slot throws(ConferenceError) in slot.room.signallingLost(id, at: MonotonicClock.now()) }
    }
}
