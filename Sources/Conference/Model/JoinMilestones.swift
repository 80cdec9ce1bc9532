public import Basics

/// When a participant's media came to each step for the first time; nil: it has not yet.
public struct JoinMilestones: Hashable, Sendable {
    /// The client's offer, or its answer to the server's, was applied.
    public var described: Instant?
    /// ICE found a path, and DTLS began.
    public var path: Instant?
    /// DTLS was done: media may flow.
    public var connected: Instant?
    /// The first picture of the participant was decoded.
    public var firstPicture: Instant?
    /// The first frame of the room's picture was sent to the participant.
    public var firstFrameSent: Instant?

    public init() {}
}
