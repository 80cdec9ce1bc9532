package import Basics

/// When a participant's media came to each step for the first time; nil: it has not yet.
package struct JoinMilestones: Hashable, Sendable {
    /// The client's offer, or its answer to the server's, was applied.
    package var described: Instant?
    /// ICE found a path, and DTLS began.
    package var path: Instant?
    /// DTLS was done: media may flow.
    package var connected: Instant?
    /// The first picture of the participant was decoded.
    package var firstPicture: Instant?
    /// The first frame of the room's picture was sent to the participant.
    package var firstFrameSent: Instant?

    package init() {}
}
