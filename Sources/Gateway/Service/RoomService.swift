import Conference

/// What the doors need of the conference: rooms, participants, recordings, layouts, in the words of the API.
///
/// `LiveRoomService` is the real one; tests of the doors bring their own.
protocol RoomService: Sendable {
    /// No new joins: the server is going down.
    var isDraining: Bool { get }
    /// Too busy for new rooms.
    var isOverloaded: Bool { get }

    func rooms() async -> [RoomSummary]
    func room(_ id: String) async throws(ServiceError) -> RoomDetail
    /// Makes the room or changes it; `created` says which.
    func putRoom(_ id: String, _ settings: RoomPatch) async throws(ServiceError) -> (room: RoomDetail, created: Bool)
    func endRoom(_ id: String) async throws(ServiceError)
    /// The current composite picture as PNG.
    func snapshot(_ room: String) async throws(ServiceError) -> [UInt8]

    func changeParticipant(_ id: String, in room: String, _ change: ParticipantPatch) async throws(ServiceError) -> ParticipantModel
    func removeParticipant(_ id: String, from room: String) async throws(ServiceError)
    func statistics(of participant: String, in room: String) async throws(ServiceError) -> JSONValue

    func startRecording(_ room: String) async throws(ServiceError) -> RecordingModel
    func setRecording(_ id: String, paused: Bool) async throws(ServiceError) -> RecordingModel
    func stopRecording(_ id: String) async throws(ServiceError) -> RecordingModel
    /// The newest first, so many at most; with `id` those that began before that one.
    func recordings(before id: String?, limit: Int) async -> [RecordingModel]
    func recording(_ id: String) async throws(ServiceError) -> RecordingModel
    /// The path of a recording's MP4.
    func recordingFile(_ id: String) async throws(ServiceError) -> String

    func layouts() async -> [LayoutModel]
    /// Takes a layout's JSON after the same checks as the files; true if the name is new.
    func putLayout(_ name: String, json: [UInt8]) async throws(ServiceError) -> Bool
    func deleteLayout(_ name: String) async throws(ServiceError)

    func metrics() async -> [MetricLine]

    /// `events` is called from any thread, in order.
    func join(_ request: JoinDemand, events: @escaping @Sendable (SharedEvent) -> Void) async throws(ServiceError) -> any Seat
    func resume(_ claim: ResumeClaim, events: @escaping @Sendable (SharedEvent) -> Void) async throws(ServiceError) -> any Seat
}

/// Who wants in, after the doorkeeper has looked at the token.
struct JoinDemand: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        case participant
        /// Receives only; with a participant's id, that participant's own mix.
        case viewer(as: String?)
    }

    var room: String
    var name: String
    var role: Role = .participant
    /// A token says that the role is theirs.
    var roleIsProven = false
    var layout: String?
    var kind = Kind.participant
    /// The seat ends with its media: there is no connection whose end would say so (WHIP, WHEP).
    var endsWithMedia = false
    /// Whom the seat is counted for.
    var client = JoinClient()
}

/// A participant's place in a room, held by a door on behalf of its client.
protocol Seat: Sendable {
    var welcome: Welcome { get }

    /// The answer to the client's offer, with all candidates inside.
    func answer(_ offer: String) async throws(ServiceError) -> SDPAnswer
    /// nil is the end of candidates.
    func add(candidate: String?) async
    /// The ICE credentials of the running session were replaced (WHIP's restart): new local ones come back.
    func restartICE(ufrag: String, password: String, candidates: [String]) async throws(ServiceError) -> ICERestart
    func setState(audio: Bool?, video: Bool?, hand: Bool?) async throws(ServiceError)
    func setLayout(_ name: String?, scope: LayoutScope, pins: [String]?) async throws(ServiceError)
    func present(_ on: Bool) async throws(ServiceError)
    func chat(_ text: String, to: String?) async throws(ServiceError)
    func record(_ action: RecordAction) async throws(ServiceError)
    func leave() async
    /// Leaves as if it had never come: a room that was made for it goes with it.
    func withdraw() async
    /// The signalling connection is gone without a word; media may live on.
    func signallingLost() async
}

/// What a joiner is told at once.
struct Welcome: Sendable, Equatable {
    var room: String
    var you: Identity
    var participants: [ParticipantInfo]
    var layout: String
    var recording: RecordingModel?

    struct Identity: Sendable, Equatable, Codable {
        var id: String
        var name: String
        var role: Role
        var resume: ResumeClaim?
    }
}

/// The id and the secret that take a seat back.
struct ResumeClaim: Sendable, Equatable, Codable {
    var id: String
    var secret: String
}

/// Our side after an ICE restart, in SDP attribute values.
struct ICERestart: Sendable, Equatable {
    var ufrag: String
    var password: String
    /// `candidate:…` lines without `a=`.
    var candidates: [String]
}

/// On the wire as the contract writes them.
extension Role: Codable {}
extension LayoutScope: Codable {}

enum RecordAction: String, Sendable, Codable, CaseIterable { case start, pause, resume, stop }

/// Why something was not done: a code of the contract and a sentence for people.
struct ServiceError: Error, Sendable, Equatable {
    var code: String
    var message: String
    /// For `overloaded` and `too_fast`: when to try again.
    var retryAfter: Int?

    init(_ code: String, _ message: String, retryAfter: Int? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }
}
