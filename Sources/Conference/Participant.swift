import Basics
import Foundation
import Peer
public import RoomMedia
import Threads

/// One seat in a room, as its door holds it.
public final class Participant: Sendable {
    public let id: String
    public let room: String
    /// With the id, what takes the seat back after signalling was lost.
    public let resumeSecret: String
    private let conference: Conference

    init(id: String, room: String, resumeSecret: String, conference: Conference) {
        self.id = id
        self.room = room
        self.resumeSecret = resumeSecret
        self.conference = conference
    }

    /// nil once it has left.
    public var info: ParticipantInfo? { try? conference.participant(id, in: room) }
    /// The name of the layout that it gets.
    public var layout: String {
        slot { slot in slot.room.member(id)?.view?.layout ?? slot.room.settings.layout } ?? ""
    }
    public var participants: [ParticipantInfo] { slot { $0.room.infos } ?? [] }
    public var recording: RecordingInfo? { slot { $0.recording?.info } ?? nil }

    private func slot<Result>(_ body: (RoomSlot) -> Result) -> Result? {
        conference.registry[room]?.read(body)
    }

    // MARK: - Media

    /// Answers the client's offer, the first or a later one.
    public func offer(_ sdp: String) async throws(ConferenceError) -> SDPAnswer {
        try await conference.peers.answer(id, offer: sdp)
    }

    /// For clients that want to be called: our offer, and their answer to it.
    public func makeOffer() async throws(ConferenceError) -> String { try await conference.peers.makeOffer(id) }
    public func accept(answer: String) async throws(ConferenceError) {
        try await conference.peers.accept(id, answer: answer)
    }

    /// A candidate line of the client (`candidate:…`), or nil at the end of them. A line that cannot be read is
    /// ignored.
    public func addCandidate(_ line: String?) {
        guard let line, !line.isEmpty, (try? conference.seats.allow(.candidate, id)) != nil else { return }
        conference.media.peers.run(id) { [id] host, now in
            guard let seat = host.seat(id) else { return }
            host.charging(seat) { seat.peer.addRemoteCandidate(line, at: now) }
            host.touch(seat)
        }
    }

    /// New ICE credentials without a whole offer (RFC 9725 §4.3.3).
    public func restartICE(ufrag: String, password: String) async throws(ConferenceError) -> ICERestart {
        try await conference.peers.restartICE(id, ufrag: ufrag, password: password)
    }

    // MARK: - What it does

    private func change<Result>(_ body: (inout RoomSlot) throws(ConferenceError) -> Result) throws(ConferenceError)
        -> Result
    {
        try conference.roomService.change(room, body)
    }

    /// What the client has switched on; nil stays.
    public func setState(audio: Bool? = nil, video: Bool? = nil, hand: Bool? = nil) throws(ConferenceError) {
        try conference.seats.allow(.state, id)
        try change { slot throws(ConferenceError) in try slot.room.setState(id, audio: audio, video: video, hand: hand)
        }
    }

    /// A picture for everyone, or one of its own: `pins` come first.
    public func setLayout(_ name: String, scope: LayoutScope, pins: [String]? = nil) throws(ConferenceError) {
        try conference.seats.allow(.layout, id)
        try conference.roomService.checkLayout(name)
        let limit = conference.configuration.limits.viewsPerRoom
        if scope == .me, let view = slot({ $0.room.personalView(name, pins: pins) }) ?? nil {
            try conference.seats.allowView(view, id, in: room)
        }
        do throws(ConferenceError) {
            try change { slot throws(ConferenceError) in
                try slot.room.setLayout(name, scope: scope, pins: pins, by: id, viewLimit: limit)
            }
        } catch {
            if case .atCapacity = error { conference.registry.count(.total) }
            throw error
        }
    }

    /// The video that follows is a screen, or no longer.
    public func present(_ on: Bool) throws(ConferenceError) {
        try conference.seats.allow(.state, id)
        try change { slot throws(ConferenceError) in try slot.room.present(id, on) }
    }

    /// To everyone, or to one participant (who says it gets it too, to see that it was said).
    public func chat(_ text: String, to other: String? = nil) throws(ConferenceError) {
        guard ChatMessage.allowedLength.contains(text.utf8.count) else {
            throw .badRequest("text: 1 to \(ChatMessage.allowedLength.upperBound) bytes")
        }
        try conference.seats.allow(.chat, id)
        try change { slot throws(ConferenceError) in
            guard let member = slot.room.member(id) else { throw .participantNotFound(id) }
            try slot.room.requireMaySendMessages(id)
            if let other, slot.room.member(other) == nil { throw .participantNotFound(other) }
            let event = ParticipantEvent.chat(
                ChatMessage(from: id, fromName: member.name, to: other, text: text, at: Date()))
            guard let other else { return conference.roomService.tellAll(slot, event) }
            for receiver in Set([other, id]) { conference.roomService.tell(slot, receiver, event) }
        }
    }

    public enum RecordAction: String, Sendable { case start, pause, resume, stop }

    /// Starts, pauses, resumes or stops the recording of the room. A stop goes on by itself: the `recording` event
    /// tells when it is over.
    public func record(_ action: RecordAction) async throws(ConferenceError) {
        let current: String?
        do throws(ConferenceError) {
            current = try change { slot throws(ConferenceError) in
                try slot.room.mayRecord(id, startedBy: slot.recording?.startedBy)
                return slot.recording?.id
            }
        } catch {
            conference.recordingService.log.recordingRefused(error, room: room, by: id)
            throw error
        }
        if action == .start {
            try await conference.recordingService.start(room, by: id)
            return
        }
        guard let current else { throw .conflict("Room “\(room)” is not being recorded.") }
        switch action {
        case .pause: try conference.pauseRecording(current)
        case .resume: try conference.resumeRecording(current)
        case .stop: Task { [conference] in _ = try? await conference.stopRecording(current) }
        case .start: break
        }
    }

    /// Sends a message to the others' data channels of that label, as if it had come on one.
    public func relay(label: String, _ content: RelayedMessage.Content) throws(ConferenceError) {
        try conference.seats.allow(.message, id)
        try change { slot throws(ConferenceError) in try slot.room.requireMaySendMessages(id) }
        let message = RelayedMessage(from: id, label: label, content: content)
        if let engine = slot(\.engine) { conference.media.peers.relay(message, in: engine) }
        conference.roomService.relayed(message, in: room)
    }

    /// Leaves as if it had never come: a room that was made for it goes with it.
    public func withdraw() { conference.seats.withdraw(id) }

    public func leave(_ reason: LeaveReason = .left) { conference.seats.leave(id, reason) }

    /// The door lost its client: the seat stays for 15 s, for `resume`.
    public func signallingLost() {
        _ = try? change { slot throws(ConferenceError) in slot.room.signallingLost(id, at: MonotonicClock.now()) }
    }
}
