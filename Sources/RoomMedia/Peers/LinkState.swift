public import Basics

/// The state of a participant's link, reported once a second while it changes and at every change of the rung.
public struct LinkState: Hashable, Sendable {
    /// The estimated capacity towards the participant.
    public var estimate: BitRate
    /// The bit rates to and from the participant in the last second, repair included.
    public var sent: BitRate
    public var received: BitRate
    /// Fractions of lost packets to and from the participant, 0 … 1.
    public var lossDown: Double
    public var lossUp: Double
    public var roundTrip: Duration
    /// The height in pixels of the picture that the participant gets; 0: audio with stills, or audio alone.
    public var rung: Int
    /// The reason of the last change of the rung.
    public var reason: LinkReason
    public var mode = LinkMode.full
}
