import Basics
import Conference
import Foundation

@testable import Gateway

/// A conference of paper: it remembers what it was asked, and has one room `r` with one participant `p1`.
final class FakeRoomService: RoomService {
    struct State {
        var isDraining = false
        var isOverloaded = false
        var rooms = ["r"]
        var asked: [String] = []
        var joinError: ServiceError?
        var answerError: ServiceError?
        /// Seats end while they answer.
        var endsWhileAnswering = false
        var recordingError: ServiceError?
        var recording: RecordingModel?
        /// Recordings that are over, the newest first.
        var finished: [String] = []
        var demands: [JoinDemand] = []
        var events: [@Sendable (SharedEvent) -> Void] = []
    }

    let state = Guarded(State())
    /// A file for recording `rec`.
    let file: String

    init(file: String = "/nowhere") { self.file = file }

    private func note(_ what: String) { state.withLock { $0.asked.append(what) } }
    var asked: [String] { state.withLock { $0.asked } }

    var isDraining: Bool { state.withLock { $0.isDraining } }
    var isOverloaded: Bool { state.withLock { $0.isOverloaded } }

    static let anna = ParticipantModel(
        id: "p1", name: "Anna", role: .participant, audio: true, video: true, hand: false, speaking: false, presenting: false)

    func rooms() async -> [RoomSummary] {
        state.withLock { $0.rooms }.map {
            RoomSummary(id: $0, participants: 1, layout: "grid", recording: nil, createdAt: Date(timeIntervalSince1970: 0))
        }
    }

    func room(_ id: String) async throws(ServiceError) -> RoomDetail {
        guard state.withLock({ $0.rooms.contains(id) }) else { throw ServiceError("room_not_found", "there is no room \(id)") }
        return RoomDetail(
            id: id, createdAt: Date(timeIntervalSince1970: 0), layout: "grid", width: 1280, height: 720, framesPerSecond: 30, locked: false,
            maxParticipants: 50, participants: [Self.anna], tiles: [], renditions: [], recording: nil)
    }

    func putRoom(_ id: String, _ settings: RoomPatch) async throws(ServiceError) -> (room: RoomDetail, created: Bool) {
        if settings.layout == "none" { throw ServiceError("unknown_layout", "there is no layout none") }
        let isNew = state.withLock { state in
            if state.rooms.contains(id) { return false }
            state.rooms.append(id)
            return true
        }
        return (try await room(id), isNew)
    }

    func endRoom(_ id: String) async throws(ServiceError) {
        _ = try await room(id)
        note("end \(id)")
    }

    func snapshot(_ room: String) async throws(ServiceError) -> [UInt8] {
        _ = try await self.room(room)
        return [0x89, 0x50]
    }

    func changeParticipant(_ id: String, in room: String, _ change: ParticipantPatch) async throws(ServiceError) -> ParticipantModel {
        guard id == "p1" else { throw ServiceError("participant_not_found", "there is no participant \(id)") }
        var anna = Self.anna
        anna.audioMuted = change.audioMuted ?? false
        anna.name = change.name ?? anna.name
        return anna
    }

    func removeParticipant(_ id: String, from room: String) async throws(ServiceError) { note("remove \(id)") }
    func statistics(of participant: String, in room: String) async throws(ServiceError) -> JSONValue { ["connected": true] }

    func startRecording(_ room: String) async throws(ServiceError) -> RecordingModel {
        try state.withLock { (state) throws(ServiceError) in
            if state.recording != nil { throw ServiceError("recording_running", "one runs") }
            let recording = RecordingModel(id: "rec", room: room, file: file, state: .recording, startedAt: Date(timeIntervalSince1970: 0))
            state.recording = recording
            return recording
        }
    }
    func setRecording(_ id: String, paused: Bool) async throws(ServiceError) -> RecordingModel {
        if let error = state.withLock({ $0.recordingError }) { throw error }
        var recording = try await recording(id)
        recording.state = paused ? .paused : .recording
        return recording
    }
    func stopRecording(_ id: String) async throws(ServiceError) -> RecordingModel {
        var recording = try await recording(id)
        recording.state = .finished
        recording.duration = 2.5
        recording.bytes = 100
        return recording
    }
    func recordings(before id: String?, limit: Int) async -> [RecordingModel] {
        let finished = state.withLock { $0.finished }.map { RecordingModel(id: $0, room: "r", file: file, state: .finished) }
        let all = (state.withLock { $0.recording.map { [$0] } } ?? []) + finished
        let start = id.flatMap { id in all.firstIndex { $0.id == id } }.map { $0 + 1 } ?? 0
        return Array(all[start...].prefix(limit))
    }
    func recording(_ id: String) async throws(ServiceError) -> RecordingModel {
        guard id == "rec" || state.withLock({ $0.finished.contains(id) }) else {
            throw ServiceError("recording_not_found", "there is no recording \(id)")
        }
        return RecordingModel(id: id, room: "r", file: file, state: .finished)
    }
    func recordingFile(_ id: String) async throws(ServiceError) -> String { try await recording(id).file }

    func layouts() async -> [LayoutModel] { [LayoutModel(name: "grid", description: "all")] }
    func putLayout(_ name: String, json: [UInt8]) async throws(ServiceError) -> Bool {
        if json.first != UInt8(ascii: "{") { throw ServiceError("bad_layout", "grid.json:1:1: no object; write one") }
        return name != "grid"
    }
    func deleteLayout(_ name: String) async throws(ServiceError) {
        guard name == "grid" else { throw ServiceError("unknown_layout", "there is no layout \(name)") }
    }

    func metrics() async -> [MetricLine] { [MetricLine(name: "tessera_rooms", help: "Rooms.", kind: .gauge, value: 1)] }

    func join(_ demand: JoinDemand, events: @escaping @Sendable (SharedEvent) -> Void) async throws(ServiceError) -> any Seat {
        note("join \(demand.room) \(demand.name) \(demand.role)")
        if let error = state.withLock({ $0.joinError }) { throw error }
        state.withLock { state in
            state.events.append(events)
            state.demands.append(demand)
        }
        return FakeSeat(service: self, demand: demand)
    }

    func resume(_ claim: ResumeClaim, events: @escaping @Sendable (SharedEvent) -> Void) async throws(ServiceError) -> any Seat {
        throw ServiceError("unauthorized", "gone")
    }

    private struct FakeSeat: Seat {
        let service: FakeRoomService
        let demand: JoinDemand

        var welcome: Welcome {
            Welcome(
                room: demand.room, you: .init(id: "p2", name: demand.name, role: demand.role, resume: nil), participants: [], layout: "grid",
                recording: nil)
        }
        func answer(_ offer: String) async throws(ServiceError) -> SDPAnswer {
            if let error = service.state.withLock({ $0.answerError }) { throw error }
            if let event = service.state.withLock({ $0.endsWhileAnswering ? $0.events.popLast() : nil }) { event(SharedEvent(.left(.timeout))) }
            return SDPAnswer(text: "v=0\r\ns=answer\r\n", remoteUfrag: "EsAw")
        }
        func add(candidate: String?) async { service.note("candidate \(candidate ?? "end")") }
        func restartICE(ufrag: String, password: String, candidates: [String]) async throws(ServiceError) -> ICERestart {
            service.note("restart \(ufrag)")
            return ICERestart(ufrag: "ours", password: "secret", candidates: ["candidate:1"])
        }
        func setState(audio: Bool?, video: Bool?, hand: Bool?) async throws(ServiceError) {}
        func setLayout(_ name: String?, scope: LayoutScope, pins: [String]?) async throws(ServiceError) {}
        func present(_ on: Bool) async throws(ServiceError) {}
        func chat(_ text: String, to: String?) async throws(ServiceError) {}
        func record(_ action: RecordAction) async throws(ServiceError) {}
        func leave() async { service.note("leave") }
        func withdraw() async { service.note("withdraw") }
        func signallingLost() async { service.note("lost") }
    }
}
