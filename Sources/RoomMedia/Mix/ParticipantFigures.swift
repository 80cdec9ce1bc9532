package import Basics
import Synchronization

/// What one participant's media are like now; nil: not known, such as the audio of one who sends none.
package struct ParticipantFigures: Sendable {
    /// Of the jitter buffer.
    package var audioDelay: Duration?
    /// Positive: audio is ahead of video.
    package var audioVideoOffset: Duration?
    package var roundTrip: Duration?
    /// The estimated capacity towards the participant.
    package var estimate: BitRate?

    init(_ intake: Intake, at now: Instant) {
        let delay = intake.statistics.delay.load(ordering: .relaxed)
        audioDelay = delay > 0 ? .nanoseconds(delay) : nil
        audioVideoOffset = intake.video.measuredOffset(at: now)
        roundTrip = intake.link.roundTrip
        estimate = intake.link.estimate
    }
}
