import Basics

/// The state of a participant's line, once a second while it changes and at every change of rung.
public struct LinkState: Hashable, Sendable {
    /// What the line is thought to carry towards the participant.
    public var estimate: BitRate
    /// What is sent to and received from it now.
    public var sent: BitRate
    public var received: BitRate
    /// 0 … 1.
    public var lossDown: Double
    public var lossUp: Double
    public var roundTrip: Duration
    /// The height of the picture that it gets; 0: audio (with a picture every few seconds).
    public var rung: Int
    /// Why the rung changed last.
    public var reason: LinkReason
    public var mode = LinkMode.full
}
