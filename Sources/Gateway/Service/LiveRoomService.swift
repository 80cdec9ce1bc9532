import Basics
import Conference
import Foundation

/// The conference as the doors see it.
struct LiveRoomService: RoomService {
    let conference: Conference
    /// Room settings that a join may not outgrow are the conference's own business; it only answers.
    var isDraining: Bool { conference.isDraining }
    var isOverloaded: Bool { conference.isOverloaded }

    func rooms() async -> [RoomSummary] {
        conference.rooms().map { room in
            RoomSummary(
                id: room.id, participants: room.participants.count, layout: room.layout, recording: room.recording.map { RecordingModel($0) },
                createdAt: room.createdAt)
        }
    }

    func room(_ id: String) async throws(ServiceError) -> RoomDetail {
        guard let room = conference.room(id) else { throw ServiceError(.roomNotFound(id)) }
        return RoomDetail(room)
    }

    func putRoom(_ id: String, _ settings: RoomPatch) async throws(ServiceError) -> (room: RoomDetail, created: Bool) {
        var change = RoomSettingsChange()
        change.layout = settings.layout
        change.width = settings.width
        change.height = settings.height
        change.framesPerSecond = settings.framesPerSecond
        change.locked = settings.locked
        change.maxParticipants = settings.maxParticipants
        do {
            let (room, isNew) = try conference.createRoom(id, change)
            return (RoomDetail(room), isNew)
        } catch { throw ServiceError(error) }
    }

    func endRoom(_ id: String) async throws(ServiceError) {
        do { try conference.endRoom(id) } catch { throw ServiceError(error) }
    }

    func snapshot(_ room: String) async throws(ServiceError) -> [UInt8] {
        do { return try await conference.snapshot(room) } catch { throw ServiceError(error) }
    }

    // MARK: Participants

    func changeParticipant(_ id: String, in room: String, _ patch: ParticipantPatch) async throws(ServiceError) -> ParticipantModel {
        var change = ParticipantChange()
        change.audioMuted = patch.audioMuted
        change.videoMuted = patch.videoMuted
        change.pinned = patch.pinned
        change.role = patch.role
        change.volume = patch.volume
        change.name = patch.name.flatMap { displayName($0) }
        do { return ParticipantModel(try conference.updateParticipant(id, in: room, change)) } catch { throw ServiceError(error) }
    }

    func removeParticipant(_ id: String, from room: String) async throws(ServiceError) {
        do { try conference.removeParticipant(id, in: room) } catch { throw ServiceError(error) }
    }

    func statistics(of participant: String, in room: String) async throws(ServiceError) -> JSONValue {
        do { return try await conference.statistics(participant, in: room).json } catch { throw ServiceError(error) }
    }

    // MARK: Recordings

    func startRecording(_ room: String) async throws(ServiceError) -> RecordingModel {
        do { return RecordingModel(try await conference.startRecording(room)) } catch { throw ServiceError(error) }
    }

    func setRecording(_ id: String, paused: Bool) async throws(ServiceError) -> RecordingModel {
        do {
            return RecordingModel(paused ? try conference.pauseRecording(id) : try conference.resumeRecording(id))
        } catch { throw ServiceError(error) }
    }

    func stopRecording(_ id: String) async throws(ServiceError) -> RecordingModel {
        do { return RecordingModel(try await conference.stopRecording(id)) } catch { throw ServiceError(error) }
    }

    func recordings(before id: String?, limit: Int) async -> [RecordingModel] {
        conference.recordings(before: id, limit: limit).map { RecordingModel($0) }
    }

    func recording(_ id: String) async throws(ServiceError) -> RecordingModel {
        guard let recording = conference.recording(id) else { throw ServiceError(.recordingNotFound(id)) }
        return RecordingModel(recording)
    }

    func recordingFile(_ id: String) async throws(ServiceError) -> String {
        do { return try conference.recordingPath(id) } catch { throw ServiceError(error) }
    }

    // MARK: Layouts

    func layouts() async -> [LayoutModel] { conference.layouts().map { LayoutModel(name: $0.name, description: $0.description) } }

    func putLayout(_ name: String, json: [UInt8]) async throws(ServiceError) -> Bool {
        let isNew = !conference.layouts().contains { $0.name == name }
        do { try conference.putLayout(name, json: json) } catch { throw ServiceError(error) }
        return isNew
    }

    func deleteLayout(_ name: String) async throws(ServiceError) {
        do { try conference.deleteLayout(name) } catch { throw ServiceError(error) }
    }

    func metrics() async -> [MetricLine] {
        conference.metrics().map { MetricLine($0) }
    }

    // MARK: Seats

    func join(_ demand: JoinDemand, events: @escaping @Sendable (SharedEvent) -> Void) async throws(ServiceError) -> any Seat {
        var request = JoinRequest(room: demand.room, name: demand.name, role: demand.role, layout: demand.layout)
        if case .viewer(let other) = demand.kind {
            request.kind = .viewer
            request.asParticipant = other
        }
        request.roleIsProven = demand.roleIsProven
        request.client = demand.client
        request.endsWithMedia = demand.endsWithMedia
        request.hasSignalling = !demand.endsWithMedia
        do {
            return LiveSeat(try conference.join(request, events: events), demand)
        } catch { throw ServiceError(error) }
    }

    func resume(_ claim: ResumeClaim, events: @escaping @Sendable (SharedEvent) -> Void) async throws(ServiceError) -> any Seat {
        do {
            let participant = try conference.resume(id: claim.id, secret: claim.secret, events: events)
            return LiveSeat(participant, nil)
        } catch { throw ServiceError(error) }
    }
}

/// A seat in a real room.
private struct LiveSeat: Seat {
    private let participant: Participant
    private let demand: JoinDemand?

    init(_ participant: Participant, _ demand: JoinDemand?) {
        self.participant = participant
        self.demand = demand
    }

    var welcome: Welcome {
        let info = participant.info
        return Welcome(
            room: participant.room,
            you: Welcome.Identity(
                id: participant.id, name: info?.name ?? demand?.name ?? "", role: info?.role ?? demand?.role ?? .participant,
                resume: ResumeClaim(id: participant.id, secret: participant.resumeSecret)),
            participants: participant.participants, layout: participant.layout,
            recording: participant.recording.map { RecordingModel($0) })
    }

    func answer(_ offer: String) async throws(ServiceError) -> SDPAnswer {
        do { return try await participant.offer(offer) } catch { throw ServiceError(error) }
    }

    func add(candidate: String?) async { participant.addCandidate(candidate) }

    func restartICE(ufrag: String, password: String, candidates: [String]) async throws(ServiceError) -> ICERestart {
        do {
            let ours = try await participant.restartIce(ufrag: ufrag, password: password)
            for candidate in candidates { participant.addCandidate(candidate) }
            return ICERestart(ufrag: ours.ufrag, password: ours.password, candidates: ours.candidates)
        } catch { throw ServiceError(error) }
    }

    func setState(audio: Bool?, video: Bool?, hand: Bool?) async throws(ServiceError) {
        do { try participant.setState(audio: audio, video: video, hand: hand) } catch { throw ServiceError(error) }
    }

    func setLayout(_ name: String?, scope: LayoutScope, pins: [String]?) async throws(ServiceError) {
        do {
            try participant.setLayout(name ?? participant.layout, scope: scope, pins: pins)
        } catch { throw ServiceError(error) }
    }

    func present(_ on: Bool) async throws(ServiceError) {
        do { try participant.present(on) } catch { throw ServiceError(error) }
    }

    func chat(_ text: String, to: String?) async throws(ServiceError) {
        do { try participant.chat(text, to: to) } catch { throw ServiceError(error) }
    }

    func record(_ action: RecordAction) async throws(ServiceError) {
        do {
            switch action {
            case .start: try await participant.record(.start)
            case .pause: try await participant.record(.pause)
            case .resume: try await participant.record(.resume)
            case .stop: try await participant.record(.stop)
            }
        } catch { throw ServiceError(error) }
    }

    func leave() async { participant.leave() }
    func withdraw() async { participant.withdraw() }
    func signallingLost() async { participant.signallingLost() }
}
