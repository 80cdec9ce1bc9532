package import Basics
package import Conference
package import Streaming

/// What the whole server does, for its checks and its readers.
package protocol ConferenceState: Sendable {
    var isDraining: Bool { get }
    var isOverloaded: Bool { get }
    var events: EventBus { get }

    func metrics(namesPrivateRooms: Bool) -> [MetricSample]
}

/// The rooms, as programs make, read and end them.
package protocol ConferenceRooms: Sendable {
    func list() -> [RoomInfo]
    func room(_ id: String) -> RoomInfo?
    /// Nothing but the settings: for what asks often.
    func settings(of room: String) -> RoomSettings?
    func create(_ id: String, _ change: RoomSettingsChange) throws(ConferenceError) -> (room: RoomInfo, isNew: Bool)
    func end(_ id: String) throws(ConferenceError)
    func snapshot(_ room: String, view name: String) async throws(ConferenceError) -> [UInt8]
}

/// The links by which guests come in.
package protocol ConferenceGuestLinks: Sendable {
    func list(of room: String, for participant: String?) throws(ConferenceError) -> [GuestLink]
    func make(_ wish: GuestLinkRequest, in room: String, for participant: String?) throws(ConferenceError) -> GuestLink
    func revoke(_ id: String, in room: String, for participant: String?) throws(ConferenceError)
    func isRevoked(_ id: String, of room: String) -> Bool
}

/// Who is in a room, and who waits for it.
package protocol ConferencePeople: Sendable {
    func update(_ id: String, in room: String, _ change: ParticipantChange) throws(ConferenceError) -> ParticipantInfo
    func remove(_ id: String, in room: String) throws(ConferenceError)
    func statistics(_ id: String, in room: String) async throws(ConferenceError) -> ParticipantStatistics
    func waiting(in room: String) throws(ConferenceError) -> [WaitingPerson]
    func decide(_ decision: WaitingDecision, about person: String, in room: String) throws(ConferenceError)
}

/// The breakout groups of rooms.
package protocol ConferenceBreakouts: Sendable {
    func info(of room: String) throws(ConferenceError) -> BreakoutInfo?
    /// Performs requests for an administrator, or throws and performs none.
    func perform(_ requests: [BreakoutRequest], in room: String) throws(ConferenceError)
}

/// The recordings, running and complete.
package protocol ConferenceRecordings: Sendable {
    func start(_ room: String, _ wish: RecordingRequest?) async throws(ConferenceError) -> RecordingInfo
    func pause(_ id: String) throws(ConferenceError) -> RecordingInfo
    func resume(_ id: String) throws(ConferenceError) -> RecordingInfo
    func stop(_ id: String) async throws(ConferenceError) -> RecordingInfo
    func deliver(_ id: String) async throws(ConferenceError) -> RecordingInfo
    func remove(_ id: String) async throws(ConferenceError)
    func rename(_ id: String, to title: String?) async throws(ConferenceError) -> RecordingInfo
    func mark(_ id: String, _ text: String) throws(ConferenceError)
    func list(before id: String?, limit: Int) -> [RecordingInfo]
    func recording(_ id: String) -> RecordingInfo?
    func path(of id: String, part: Int) throws(ConferenceError) -> String
    func path(of id: String, track: Int) throws(ConferenceError) -> String
    func timelinePath(of id: String, asText: Bool) throws(ConferenceError) -> String
    func thumbnailPath(of id: String) async throws(ConferenceError) -> String
}

/// The streams to other servers, and to players.
package protocol ConferenceStreams: Sendable {
    func start(_ room: String, _ request: StreamRequest) throws(ConferenceError) -> StreamInfo
    func end(_ id: String, in room: String) async throws(ConferenceError) -> StreamInfo
    func list(_ room: String) throws(ConferenceError) -> [StreamInfo]
    func stream(_ id: String, in room: String) throws(ConferenceError) -> StreamInfo
    func hls(_ request: AdmittedJoin, isNew: Bool) throws(ConferenceError) -> HLSStream?
}

/// What is pulled into rooms.
package protocol ConferenceInputs: Sendable {
    func add(_ wish: InputRequest, to room: String) throws(ConferenceError) -> InputInfo
    func list(_ room: String) throws(ConferenceError) -> [InputInfo]
    func input(_ id: String, in room: String) throws(ConferenceError) -> InputInfo
    func remove(_ id: String, from room: String) throws(ConferenceError)
}

/// The pictures of chats.
package protocol ConferencePictures: Sendable {
    func store(_ bytes: [UInt8], from address: IPAddress?, isSent: Bool) async throws(ConferenceError) -> ChatPicture
    func keep(_ id: String)
    func read(_ id: String) async throws(ConferenceError) -> [UInt8]
    func path(of id: String) throws(ConferenceError) -> String
}

/// The pictures of people.
package protocol ConferenceAvatars: Sendable {
    func set(_ file: [UInt8]?, of id: String, in room: String) async throws(ConferenceError)
    func png(of id: String, in room: String) async throws(ConferenceError) -> [UInt8]
    func store(_ file: [UInt8], as name: String) async throws(ConferenceError)
    func file(_ name: String) async throws(ConferenceError) -> [UInt8]
    func delete(_ name: String) async throws(ConferenceError)
}

/// The layouts that rooms can have.
package protocol ConferenceLayouts: Sendable {
    var all: [LayoutInfo] { get }
    func put(_ name: String, json: [UInt8]) async throws(ConferenceError)
    func delete(_ name: String) async throws(ConferenceError)
    func check(_ name: String, json: [UInt8]) async throws(ConferenceError)
    func checkUnused(_ name: String) throws(ConferenceError)
}

/// The way in: joins, waits, and seats that are taken up again.
package protocol ConferenceSeats: Sendable {
    /// Joins. `events` is called in order, on a thread of the conference.
    func seat(_ request: AdmittedJoin, events: @escaping @Sendable (SharedEvent) -> Void) throws(ConferenceError)
        -> any ConferenceSeat
    /// Waits to be let in, where a join threw `ConferenceError.mustWait`. Returns the wait's id. `decided` is called
    /// once, on a thread of the conference.
    func wait(
        for request: AdmittedJoin, _ decided: @escaping @Sendable (WaitingEnd) -> Void
    ) throws(ConferenceError) -> String
    func stopWaiting(_ id: String, in room: String)
    /// Tells moderators that wrong PINs are tried at their room.
    func reportPINTries(at room: String, wrong: Int)
    /// Resumes the seat of a client whose signalling was lost.
    func seat(
        resuming claim: ResumeClaim, events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> any ConferenceSeat
    /// The seat of a client beside the endpoint that holds it: for what the client asks for elsewhere.
    func seat(of claim: ResumeClaim, in room: String) throws(ConferenceError) -> any ConferenceSeat
    /// A connection that sends the screen of the client with this seat. `ended` is called once, on a thread of the
    /// conference.
    func screen(
        of claim: ResumeClaim, in room: String, for client: JoinClient, ended: @escaping @Sendable () -> Void
    ) throws(ConferenceError) -> any MediaSeat
}

/// The conference as the endpoints use it, with the conference's own types: each takes the parts that it needs. Tests of
/// the endpoints use a fake.
package struct ConferenceServices: Sendable {
    package var state: any ConferenceState
    package var seats: any ConferenceSeats
    package var rooms: any ConferenceRooms
    package var guestLinks: any ConferenceGuestLinks
    package var people: any ConferencePeople
    package var breakouts: any ConferenceBreakouts
    package var recordings: any ConferenceRecordings
    package var streams: any ConferenceStreams
    package var inputs: any ConferenceInputs
    package var pictures: any ConferencePictures
    package var avatars: any ConferenceAvatars
    package var layouts: any ConferenceLayouts

    package init(_ conference: Conference) {
        (state, seats, rooms, guestLinks) = (conference, conference, conference.rooms, conference.guestLinks)
        (people, breakouts) = (conference.people, conference.breakouts)
        (recordings, streams, inputs) = (conference.recordings, conference.streams, conference.inputs)
        (pictures, avatars, layouts) = (conference.pictures, conference.avatars, conference.layouts)
    }

    /// One object that is all of them but the layouts.
    package init(
        all: some ConferenceState & ConferenceSeats & ConferenceRooms & ConferenceGuestLinks & ConferencePeople
            & ConferenceBreakouts & ConferenceRecordings & ConferenceStreams & ConferenceInputs & ConferencePictures
            & ConferenceAvatars,
        layouts: any ConferenceLayouts
    ) {
        (state, seats, rooms, guestLinks, people, breakouts) = (all, all, all, all, all, all)
        (recordings, streams, inputs, pictures, avatars) = (all, all, all, all, all)
        self.layouts = layouts
    }
}

extension RoomDirectory: ConferenceRooms {}
extension GuestLinkService: ConferenceGuestLinks {}
extension PeopleService: ConferencePeople {}
extension BreakoutService: ConferenceBreakouts {}
extension RecordingService: ConferenceRecordings {}
extension StreamService: ConferenceStreams {}
extension InputService: ConferenceInputs {}
extension PictureStore: ConferencePictures {}
extension AvatarService: ConferenceAvatars {}
extension LayoutService: ConferenceLayouts {}

/// A media connection, as an endpoint without other signalling holds it for its client: a seat, or the sender of a
/// participant's screen.
package protocol MediaSeat: Sendable {
    var id: String { get }

    func offer(_ sdp: String) async throws(ConferenceError) -> SDPAnswer
    func addCandidate(_ line: String?)
    func restartICE(ufrag: String, password: String) async throws(ConferenceError) -> ICERestart
    func leave(_ reason: LeaveReason)
    func withdraw()
}

extension ScreenSender: MediaSeat {}

/// A participant's seat in a room, as an endpoint holds it for its client: `Participant`, or a test's fake.
package protocol ConferenceSeat: MediaSeat {
    var room: String { get }
    var resumeSecret: String { get }
    /// nil once the participant has left.
    var info: ParticipantInfo? { get }
    var shown: ShownLayout { get }
    var views: [String] { get }
    var participants: [ParticipantInfo] { get }
    /// Those that run or are paused, in the order of their starts.
    var runningRecordings: [RecordingInfo] { get }
    var isStreamed: Bool { get }
    /// The time that a recording of the room would begin before its start.
    var preRoll: Duration { get }
    var access: RoomAccess { get }
    /// The key by which the client is a host of the room when it comes back; nil: it is none.
    var hostKey: String? { get }
    /// Whether the client's connection for media goes on, rather than begins.
    var hasMedia: Bool { get }
    /// Whether the room is about to be recorded because of this participant's join.
    var startsRecording: Bool { get }
    /// The latest public messages of the room's chat, the oldest first.
    var chatHistory: [ChatMessage] { get }
    /// nil: there are no breakout groups.
    var breakout: BreakoutNotice? { get }

    func makeOffer(restartsICE: Bool) async throws(ConferenceError) -> String
    func accept(answer: String) async throws(ConferenceError)
    func setState(audio: Bool?, video: Bool?, hand: Bool?) throws(ConferenceError)
    func setLayout(_ name: String?, scope: LayoutScope, pins: [String]?) throws(ConferenceError)
    func setView(_ name: String) throws(ConferenceError)
    func present(_ on: Bool, audio: Bool) throws(ConferenceError)
    func setRecorded(_ isRecorded: Bool) throws(ConferenceError)
    func chat(_ text: String, to other: String?, all: Bool) throws(ConferenceError)
    func sendPicture(_ bytes: [UInt8], to other: String?) async throws(ConferenceError) -> ChatPicture
    func setAvatar(_ file: [UInt8]?) async throws(ConferenceError)
    func record(_ action: Participant.RecordAction, _ recording: String?, group: Int?) async throws(ConferenceError)
    func mark(_ text: String) throws(ConferenceError)
    func moderate(_ moderation: Moderation) throws(ConferenceError)
    func breakOut(_ request: BreakoutRequest) throws(ConferenceError)
    func changeRoom(_ change: RoomSettingsChange) throws(ConferenceError)
    func recordings() throws(ConferenceError) -> [RecordingInfo]
    /// Those of them that are this client's to rename, to share and to remove, also after the call.
    func ownRecordings() -> Set<String>
    func signallingLost()
    /// The client leaves since its page is closed, perhaps to be loaded again: `leave` follows.
    func mayReturn()
}

extension Participant: ConferenceSeat {}

extension Conference: ConferenceState, ConferenceSeats {
    package func seat(_ request: AdmittedJoin, events: @escaping @Sendable (SharedEvent) -> Void)
        throws(ConferenceError)
        -> any ConferenceSeat
    {
        try join(request, events: events)
    }

    package func seat(
        resuming claim: ResumeClaim, events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> any ConferenceSeat {
        try resume(id: claim.id, secret: claim.secret, in: claim.room, for: claim.client, events: events)
    }

    package func seat(of claim: ResumeClaim, in room: String) throws(ConferenceError) -> any ConferenceSeat {
        try participant(claim.id, secret: claim.secret, in: room)
    }

    package func screen(
        of claim: ResumeClaim, in room: String, for client: JoinClient, ended: @escaping @Sendable () -> Void
    ) throws(ConferenceError) -> any MediaSeat {
        try sendScreen(of: claim.id, secret: claim.secret, in: room, for: client, ended: ended)
    }
}

/// The id and the secret that resume a seat.
package struct ResumeClaim: Sendable, Hashable, Decodable {
    package var id: String
    package var secret: String
    /// The room that the client names beside it; nil: none.
    package var room: String?
    /// Who counts for the seat where this server has never seen it.
    package var client = JoinClient()

    package init(id: String, secret: String, room: String? = nil) {
        self.id = id
        self.secret = secret
        self.room = room
    }

    private enum CodingKeys: String, CodingKey { case id, secret }
}
