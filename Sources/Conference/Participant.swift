import Basics

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
    public var info: ParticipantInfo? { nil }
    /// The name of the layout that it gets.
    public var layout: String { "" }
    public var participants: [ParticipantInfo] { [] }
    public var recording: RecordingInfo? { nil }

    /// Answers the client's offer, the first or a later one. The answer has all candidates.
    public func offer(_ sdp: String) async throws(ConferenceError) -> String { throw .overloaded }
    /// For clients that want to be called: our offer, and their answer to it.
    public func makeOffer() async throws(ConferenceError) -> String { throw .overloaded }
    public func accept(answer: String) async throws(ConferenceError) {}
    /// A candidate line of the client (`candidate:…`), or nil at the end of them. A line that cannot be read is ignored.
    public func addCandidate(_ line: String?) {}
    /// New ICE credentials without a whole offer (RFC 9725 §4.3.3).
    public func restartIce(ufrag: String, password: String) async throws(ConferenceError) -> IceRestart { throw .overloaded }

    /// What the client has switched on; nil stays.
    public func setState(audio: Bool? = nil, video: Bool? = nil, hand: Bool? = nil) {}
    public enum LayoutScope: String, Sendable { case room, me }
    /// A picture for everyone, or one of its own: `pins` come first.
    public func setLayout(_ name: String, scope: LayoutScope, pins: [String]? = nil) throws(ConferenceError) {}
    /// The video that follows is a screen, or no longer.
    public func present(_ on: Bool) throws(ConferenceError) {}
    public func chat(_ text: String, to: String? = nil) throws(ConferenceError) {}
    public enum RecordAction: String, Sendable { case start, pause, resume, stop }
    public func record(_ action: RecordAction) throws(ConferenceError) {}
    /// Sends a message to the others' data channels of that label, as if it had come on one.
    public func relay(label: String, _ content: RelayedMessage.Content) {}

    public func leave(_ reason: LeaveReason = .left) {}
    /// The door lost its client: the seat stays for 15 s while media flows.
    public func signallingLost() {}

    /// Our side of an ICE restart.
    public struct IceRestart: Hashable, Sendable {
        public var ufrag: String
        public var password: String
        /// Lines `candidate:…`.
        public var candidates: [String]
    }
}
