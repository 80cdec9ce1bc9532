import Basics
import EndpointTestSupport
import Foundation
import Streaming

@testable import Admission
@testable import Conference
@testable import Gateway
@testable import RoomMedia
@testable import Settings
@testable import WebServer

/// A fake conference: records its calls, and has one room `r` with one participant `p1`.
final class FakeConference: ConferenceState, ConferenceSeats, ConferenceRooms, ConferenceGuestLinks, ConferencePeople,
    ConferenceBreakouts, ConferenceRecordings, ConferenceStreams, ConferenceInputs, ConferencePictures,
    ConferenceAvatars
{
    struct State {
        var isDraining = false
        var isOverloaded = false
        var rooms = ["r"]
        var settings: [String: RoomSettings] = [:]
        var waits: [@Sendable (WaitingEnd) -> Void] = []
        var asked: [String] = []
        var joinError: ConferenceError?
        var answerError: ConferenceError?
        /// Whether seats end while they answer an offer.
        var endsWhileAnswering = false
        var recordingError: ConferenceError?
        var recording: RecordingInfo?
        var preRoll: Duration = .zero
        var chatHistory: [ChatMessage] = []
        /// Finished recordings, the newest first.
        var finished: [String] = []
        /// The recordings of the meeting in `r`.
        var meeting: [RecordingInfo] = []
        /// Those of them that are the seat's own.
        var own: Set<String> = []
        var requests: [AdmittedJoin] = []
        var hls: [String: HLSStream] = [:]
        var events: [@Sendable (SharedEvent) -> Void] = []
        var milestones = JoinMilestones()
    }

    let state = Guarded(State())
    /// A file for recording `rec`.
    let file: String
    let events = EventBus()

    /// - Parameter hasEvents: false: streams of events end at once.
    init(file: String = "/nowhere", hasEvents: Bool = false) {
        self.file = file
        if !hasEvents { events.close() }
    }

    var services: ConferenceServices { ConferenceServices(all: self, layouts: FakeLayouts()) }

    private func note(_ what: String) { state.withLock { $0.asked.append(what) } }
    var asked: [String] { state.withLock { $0.asked } }

    var isDraining: Bool { state.withLock { $0.isDraining } }
    var isOverloaded: Bool { state.withLock { $0.isOverloaded } }

    static let anna = ParticipantInfo(
        id: "p1", name: "Anna", role: .participant, audio: true, video: true, hand: false, speaking: false,
        presenting: false,
        audioMuted: false, videoMuted: false, pinned: false, volume: 1)

    private func info(_ id: String) -> RoomInfo {
        RoomInfo(
            id: id, settings: state.withLock { $0.settings[id] } ?? RoomSettings(), participants: [Self.anna],
            tiles: TilesInfo(width: 1280, height: 720, tiles: []), renditions: [],
            createdAt: Date(timeIntervalSince1970: 0))
    }

    func list() -> [RoomInfo] { state.withLock { $0.rooms }.map(info) }
    func room(_ id: String) -> RoomInfo? { state.withLock { $0.rooms.contains(id) } ? info(id) : nil }
    func settings(of room: String) -> RoomSettings? { self.room(room)?.settings }

    func create(_ id: String, _ change: RoomSettingsChange) throws(ConferenceError) -> (room: RoomInfo, isNew: Bool) {
        if change.layout == "none" { throw .unknownLayout("none") }
        var settings = state.withLock { $0.settings[id] } ?? RoomSettings()
        try settings.apply(change)
        let isNew = state.withLock { [settings] state in
            state.settings[id] = settings
            if state.rooms.contains(id) { return false }
            state.rooms.append(id)
            return true
        }
        return (info(id), isNew)
    }

    func end(_ id: String) throws(ConferenceError) {
        guard room(id) != nil else { throw .roomNotFound(id) }
        note("end \(id)")
    }

    func snapshot(_ room: String, view name: String) async throws(ConferenceError) -> [UInt8] {
        guard self.room(room) != nil else { throw .roomNotFound(room) }
        return [0x89, 0x50, 0x4E, 0x47]
    }

    func update(_ id: String, in room: String, _ change: ParticipantChange) throws(ConferenceError)
        -> ParticipantInfo
    {
        guard id == "p1" else { throw .participantNotFound(id) }
        let change = try change.checked()
        var anna = Self.anna
        anna.audioMuted = change.audioMuted ?? false
        anna.name = change.name ?? anna.name
        return anna
    }

    func hls(_ request: AdmittedJoin, isNew: Bool) throws(ConferenceError) -> HLSStream? {
        guard let info = room(request.room) else { throw .roomNotFound(request.room) }
        // The rules are the room's own.
        let room = Room(id: info.id, settings: info.settings, createdAt: info.createdAt, at: .zero)
        try room.requireWatching(request, isNew: isNew)
        return state.withLock { $0.hls[request.room] }
    }

    func list(of room: String, for participant: String?) throws(ConferenceError) -> [GuestLink] { [] }
    func make(
        _ wish: GuestLinkRequest, in room: String, for participant: String?
    ) throws(ConferenceError) -> GuestLink { throw .roomNotFound(room) }
    func revoke(_ id: String, in room: String, for participant: String?) throws(ConferenceError) {
        if id == "gone" { throw .guestLinkNotFound }
        note("revoke \(id) in \(room) for \(participant ?? "an administrator")")
    }
    func isRevoked(_ id: String, of room: String) -> Bool { false }

    func remove(_ id: String, in room: String) throws(ConferenceError) { note("remove \(id)") }
    func waiting(in room: String) throws(ConferenceError) -> [WaitingPerson] {
        [WaitingPerson(id: "w1", name: "Dee")]
    }
    func decide(_ decision: WaitingDecision, about person: String, in room: String) throws(ConferenceError) {
        if person != "w1" { throw .participantNotFound(person) }
        note("\(decision.rawValue) \(person)")
    }
    func info(of room: String) throws(ConferenceError) -> BreakoutInfo? {
        BreakoutInfo(
            phase: .open, groups: [.init(number: 1, name: "Red", participants: ["p1"])], endsIn: .seconds(90))
    }
    func perform(_ requests: [BreakoutRequest], in room: String) throws(ConferenceError) {
        for request in requests { note("\(request)") }
    }
    func statistics(_ id: String, in room: String) async throws(ConferenceError) -> ParticipantStatistics {
        var statistics = ParticipantStatistics()
        statistics.transport = "udp 203.0.113.7:51234"
        statistics.milestones = state.withLock { $0.milestones }
        return statistics
    }

    private func recording(_ id: String, _ state: RecordingInfo.State) -> RecordingInfo {
        RecordingInfo(id: id, room: "r", file: file, state: state, startedAt: Date(timeIntervalSince1970: 0))
    }

    func start(_ room: String, _ wish: RecordingRequest?) async throws(ConferenceError) -> RecordingInfo {
        var recording = recording("rec", .recording)
        if let wish {
            (recording.view, recording.audioOnly) = (wish.view, wish.audioOnly)
            note("record \(wish.view ?? "-") \(wish.audioOnly) \(wish.tracks.map(String.init) ?? "-")")
            return recording
        }
        try state.withLock { [recording] (state) throws(ConferenceError) in
            if state.recording != nil { throw .recordingRunning(room) }
            state.recording = recording
        }
        return recording
    }

    private func change(_ id: String, to state: RecordingInfo.State) throws(ConferenceError) -> RecordingInfo {
        if let error = self.state.withLock({ $0.recordingError }) { throw error }
        guard recording(id) != nil else { throw .recordingNotFound(id) }
        return recording(id, state)
    }

    func pause(_ id: String) throws(ConferenceError) -> RecordingInfo { try change(id, to: .paused) }
    func resume(_ id: String) throws(ConferenceError) -> RecordingInfo { try change(id, to: .recording) }

    func rename(_ id: String, to title: String?) async throws(ConferenceError) -> RecordingInfo {
        var recording = try change(id, to: .finished)
        recording.title = title
        note("title \(id) \(title ?? "")")
        return recording
    }
    func thumbnailPath(of id: String) async throws(ConferenceError) -> String {
        guard let recording = recording(id) else { throw .recordingNotFound(id) }
        return recording.file
    }
    func remove(_ id: String) async throws(ConferenceError) {
        note("remove \(try change(id, to: .finished).id)")
    }
    func deliver(_ id: String) async throws(ConferenceError) -> RecordingInfo { try change(id, to: .finished) }

    func stop(_ id: String) async throws(ConferenceError) -> RecordingInfo {
        var recording = try change(id, to: .finished)
        recording.duration = .milliseconds(2500)
        recording.bytes = 100
        return recording
    }

    private func stream(_ url: String) -> StreamInfo {
        StreamInfo(
            id: "str", room: "r", url: url, view: "main", keyframeInterval: .seconds(2),
            startedAt: Date(timeIntervalSince1970: 0))
    }

    func start(_ room: String, _ request: StreamRequest) throws(ConferenceError) -> StreamInfo {
        note("stream \(request.url) \(request.view ?? "-") \(request.keyframeInterval.map { "\($0)" } ?? "-")")
        return stream("rtmp://live.example/app/…")
    }
    func end(_ id: String, in room: String) async throws(ConferenceError) -> StreamInfo {
        note("end stream \(id)")
        return try stream(id, in: room)
    }
    func list(_ room: String) throws(ConferenceError) -> [StreamInfo] { [try stream("str", in: room)] }
    func stream(_ id: String, in room: String) throws(ConferenceError) -> StreamInfo {
        guard id == "str" else { throw .streamNotFound(id) }
        var info = stream("rtmp://live.example/app/…")
        info.state = .retrying(since: Date(timeIntervalSince1970: 60), attempts: 3, reason: "Connection refused")
        return info
    }

    func list(before id: String?, limit: Int) -> [RecordingInfo] {
        let finished = state.withLock { $0.finished }.map { recording($0, .finished) }
        let all = (state.withLock { $0.recording.map { [$0] } } ?? []) + finished
        let start = id.flatMap { id in all.firstIndex { $0.id == id } }.map { $0 + 1 } ?? 0
        return Array(all[start...].prefix(limit))
    }

    func recording(_ id: String) -> RecordingInfo? {
        id == "rec" || state.withLock { $0.finished.contains(id) } ? recording(id, .finished) : nil
    }

    func path(of id: String, part: Int) throws(ConferenceError) -> String {
        guard let recording = recording(id), part <= recording.parts else { throw .recordingNotFound(id) }
        return recording.file
    }

    func path(of id: String, track: Int) throws(ConferenceError) -> String {
        guard let recording = recording(id), track == 1 else { throw .recordingNotFound(id) }
        return recording.file
    }

    func add(_ wish: InputRequest, to room: String) throws(ConferenceError) -> InputInfo {
        guard self.room(room) != nil else { throw .roomNotFound(room) }
        guard wish.url != "refused" else { throw .badRequest("url: refused") }
        note("input \(wish.url) \(wish.name) \(wish.loops)")
        return input(in: room)
    }
    func list(_ room: String) throws(ConferenceError) -> [InputInfo] { [input(in: room)] }
    func input(_ id: String, in room: String) throws(ConferenceError) -> InputInfo {
        guard id == "in" else { throw .inputNotFound(id) }
        return input(in: room)
    }
    func remove(_ id: String, from room: String) throws(ConferenceError) {
        _ = try input(id, in: room)
        note("remove \(id)")
    }
    private func input(in room: String) -> InputInfo {
        InputInfo(
            id: "in", room: room, participant: "p9", name: "Camera", url: "srt://camera.example:9000", loops: false,
            state: .connecting, since: Date(timeIntervalSince1970: 0))
    }

    func mark(_ id: String, _ text: String) throws(ConferenceError) { note("mark \(id) \(text)") }
    func timelinePath(of id: String, asText: Bool) throws(ConferenceError) -> String {
        guard let recording = recording(id) else { throw .recordingNotFound(id) }
        return recording.file + (asText ? ".vtt" : ".timeline.json")
    }

    func set(_ file: [UInt8]?, of id: String, in room: String) async throws(ConferenceError) {
        note("avatar \(id) \(file?.count ?? 0)")
    }
    func png(of id: String, in room: String) async throws(ConferenceError) -> [UInt8] { [1] }
    func store(_ file: [UInt8], as name: String) async throws(ConferenceError) { note("store avatar \(name)") }
    func file(_ name: String) async throws(ConferenceError) -> [UInt8] { [1] }
    func delete(_ name: String) async throws(ConferenceError) { note("delete avatar \(name)") }
    /// The only picture; its file is the recording's.
    static let picture = "aaaaaaaaaaaaaaaaaaaaaaaaaa.gif"

    func store(
        _ bytes: [UInt8], from address: IPAddress?, isSent: Bool
    ) async throws(ConferenceError) -> ChatPicture {
        guard let format = ChatPicture.Format(bytes) else { throw .badPicture("no picture") }
        note("store \(bytes.count)\(isSent ? "" : " unsent")")
        return ChatPicture(id: Self.picture, type: format.type, bytes: bytes.count)
    }
    func keep(_ id: String) { note("keep \(id)") }
    func read(_ id: String) async throws(ConferenceError) -> [UInt8] {
        guard id == Self.picture else { throw .pictureNotFound }
        return Array("GIF89a".utf8)
    }
    func path(of id: String) throws(ConferenceError) -> String {
        guard id == Self.picture else { throw .pictureNotFound }
        return file
    }

    func metrics(namesPrivateRooms: Bool) -> [MetricSample] {
        [MetricSample("tessera_rooms", "Rooms.", .gauge, 1)]
            + (namesPrivateRooms
                ? [MetricSample("tessera_room_participants", "People.", .gauge, 1, labels: ["room": "private"])] : [])
    }

    func seat(_ request: AdmittedJoin, events: @escaping @Sendable (SharedEvent) -> Void) throws(ConferenceError)
        -> any ConferenceSeat
    {
        note("join \(request.room) \(request.name) \(request.role)")
        if let error = state.withLock({ $0.joinError }) { throw error }
        state.withLock { state in
            state.events.append(events)
            state.requests.append(request)
        }
        return FakeSeat(conference: self, request: request)
    }

    func wait(
        for request: AdmittedJoin, _ decided: @escaping @Sendable (WaitingEnd) -> Void
    ) throws(ConferenceError) -> String {
        state.withLock { $0.waits.append(decided) }
        return "w1"
    }

    func reportPINTries(at room: String, wrong: Int) { note("\(wrong) wrong PINs at \(room)") }
    func stopWaiting(_ id: String, in room: String) {
        note("stop waiting \(id)")
        decide(.left)
    }

    /// Ends the last wait.
    func decide(_ end: WaitingEnd) { state.withLock { $0.waits.popLast() }?(end) }

    /// The next joins have to wait, or not any more.
    func makeWait(_ waits: Bool) { state.withLock { $0.joinError = waits ? .mustWait("r") : nil } }

    func seat(
        resuming claim: ResumeClaim, events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> any ConferenceSeat { throw .unauthorized("gone") }

    func seat(of claim: ResumeClaim, in room: String) throws(ConferenceError) -> any ConferenceSeat {
        guard claim == ResumeClaim(id: "p2", secret: "s"), self.room(room) != nil else { throw .unauthorized("gone") }
        return FakeSeat(conference: self, request: AdmittedJoin(room: room, name: "Bob"))
    }

    func screen(
        of claim: ResumeClaim, in room: String, for client: JoinClient, ended: @escaping @Sendable () -> Void
    ) throws(ConferenceError) -> any MediaSeat {
        let seat = try seat(of: claim, in: room)
        if let error = state.withLock({ $0.joinError }) { throw error }
        note("screen of \(claim.id)")
        state.withLock { $0.events.append { event in if case .left = event.event { ended() } } }
        return seat
    }

    private struct FakeSeat: ConferenceSeat {
        let conference: FakeConference
        let request: AdmittedJoin

        let id = "p2"
        var room: String { request.room }
        let resumeSecret = "s"
        let info: ParticipantInfo? = nil
        let shown = ShownLayout(name: "grid")
        let views = ["main", "portrait"]
        let participants: [ParticipantInfo] = []
        let runningRecordings: [RecordingInfo] = []
        let isStreamed = false
        var preRoll: Duration { conference.state.withLock { $0.preRoll } }
        let access = RoomAccess()
        let startsRecording = false
        let hasMedia = false
        var hostKey: String? { request.hostKey }
        var chatHistory: [ChatMessage] { conference.state.withLock { $0.chatHistory } }

        func offer(_ sdp: String) async throws(ConferenceError) -> SDPAnswer {
            if let error = conference.state.withLock({ $0.answerError }) { throw error }
            if let event = conference.state.withLock({ $0.endsWhileAnswering ? $0.events.popLast() : nil }) {
                event(SharedEvent(.left(.timeout)))
            }
            return SDPAnswer(text: "v=0\r\ns=answer\r\n", remoteUfrag: "EsAw")
        }
        func makeOffer(restartsICE: Bool) async throws(ConferenceError) -> String {
            conference.note(restartsICE ? "offer again" : "offer")
            return "v=0\r\ns=offer\r\n"
        }
        func accept(answer: String) async throws(ConferenceError) { conference.note("accept \(answer.count)") }
        func addCandidate(_ line: String?) { conference.note("candidate \(line ?? "end")") }
        func restartICE(ufrag: String, password: String) async throws(ConferenceError) -> ICERestart {
            conference.note("restart \(ufrag)")
            return ICERestart(ufrag: "ours", password: "secret", candidates: ["candidate:1"])
        }
        func setState(audio: Bool?, video: Bool?, hand: Bool?) throws(ConferenceError) {}
        func setLayout(_ name: String?, scope: LayoutScope, pins: [String]?) throws(ConferenceError) {}
        func setView(_ name: String) throws(ConferenceError) {}
        func present(_ on: Bool, audio: Bool) throws(ConferenceError) {}
        func setRecorded(_ isRecorded: Bool) throws(ConferenceError) {
            conference.note("recorded \(isRecorded)")
        }
        let breakout: BreakoutNotice? = nil
        func breakOut(_ request: BreakoutRequest) throws(ConferenceError) { conference.note("\(request)") }
        func chat(_ text: String, to other: String?, all: Bool) throws(ConferenceError) {
            conference.note("chat \(text) to \(other ?? "all")")
        }
        func sendPicture(_ bytes: [UInt8], to other: String?) async throws(ConferenceError) -> ChatPicture {
            conference.note("picture to \(other ?? "all")")
            return try await conference.store(bytes, from: nil, isSent: true)
        }
        func setAvatar(_ file: [UInt8]?) async throws(ConferenceError) {
            conference.note("own avatar \(file?.count ?? 0)")
        }
        func record(
            _ action: Participant.RecordAction, _ recording: String?, group: Int?
        ) async throws(ConferenceError) {}
        func mark(_ text: String) throws(ConferenceError) {}
        func moderate(_ moderation: Moderation) throws(ConferenceError) { conference.note("\(moderation)") }
        func changeRoom(_ change: RoomSettingsChange) throws(ConferenceError) {}
        func recordings() throws(ConferenceError) -> [RecordingInfo] {
            if let error = conference.state.withLock({ $0.recordingError }) { throw error }
            return conference.state.withLock { $0.meeting }
        }
        func ownRecordings() -> Set<String> { conference.state.withLock { $0.own } }
        func leave(_ reason: LeaveReason) { conference.note("leave") }
        func withdraw() { conference.note("withdraw") }
        func signallingLost() { conference.note("lost") }
        func mayReturn() { conference.note("may return") }
    }
}

/// One layout, `grid`; `used` is in use.
struct FakeLayouts: ConferenceLayouts {
    var all: [LayoutInfo] { [LayoutInfo(name: "grid", description: "all")] }
    func put(_ name: String, json: [UInt8]) async throws(ConferenceError) {
        if json.first != UInt8(ascii: "{") { throw .badLayout(["grid.json:1:1: no object; write one"]) }
    }
    func delete(_ name: String) async throws(ConferenceError) {
        guard name == "grid" else { throw .unknownLayout(name) }
    }
    func check(_ name: String, json: [UInt8]) async throws(ConferenceError) {
        try await put(name, json: json)
    }
    func checkUnused(_ name: String) throws(ConferenceError) {
        if name == "used" { throw .layoutInUse(name) }
    }
}
