package import Basics

/// The state of a participant's link, reported once a second while it changes, every two seconds while it changes little,
/// and at every change of the rung.
package struct LinkState: Hashable, Sendable {
    /// The estimated capacity towards the participant.
    package var estimate: BitRate
    /// The bit rates to and from the participant in the last second, repair included.
    package var sent: BitRate
    package var received: BitRate
    /// Fractions of lost packets to and from the participant, 0 … 1.
    package var lossDown: Double
    package var lossUp: Double
    package var roundTrip: Duration
    /// The height in pixels of the picture that the participant gets; 0: audio with stills, or audio alone.
    package var rung: Int
    /// Why the picture is not larger.
    package var reason: LinkReason
    package var mode = LinkMode.full
    /// Whether the picture is a participant's own, as it came.
    package var isForwarded = false
    /// What the server hears and sees of the participant.
    package var heard = HeardAudio.nothing
    package var seen = SeenVideo.nothing
    /// What the participant is asked to send at most, by the size of its tiles.
    package var asked = BitRate.zero

    /// Whether all that is said in words is as in `other`, and what is measured nearly so.
    func resembles(_ other: LinkState) -> Bool {
        func isNear(_ some: BitRate, _ others: BitRate) -> Bool {
            abs(some.bitsPerSecond - others.bitsPerSecond) <= max(others.bitsPerSecond / 5, 10_000)
        }
        return (rung, reason.code, mode, isForwarded) == (other.rung, other.reason.code, other.mode, other.isForwarded)
            && (heard, seen, asked) == (other.heard, other.seen, other.asked)
            && isNear(estimate, other.estimate) && isNear(sent, other.sent) && isNear(received, other.received)
            && abs(lossDown - other.lossDown) < 0.02 && abs(lossUp - other.lossUp) < 0.02
            && abs((roundTrip - other.roundTrip).inSeconds) < 0.05
    }
}
