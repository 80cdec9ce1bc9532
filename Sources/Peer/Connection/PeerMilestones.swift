public import Basics

/// When a connection came to each step for the first time; nil: it has not yet.
public struct PeerMilestones: Hashable, Sendable {
    /// The peer's first description was applied.
    public var described: Instant?
    /// ICE found a path, and DTLS began.
    public var path: Instant?
    /// DTLS was done: media may flow.
    public var connected: Instant?
    /// The first video frame was queued for the peer.
    public var firstFrameSent: Instant?

    /// Makes milestones of a connection that has come to none.
    public init() {}
}
