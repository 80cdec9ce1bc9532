import Basics
import Synchronization

/// The present state of a participant's link, for readers on other threads. Written by the loop once a second.
final class LinkGauges: Sendable {
    /// Nanoseconds and bits a second; 0: not known.
    private let roundTripTime = Atomic<Int64>(0)
    private let estimatedRate = Atomic<Int>(0)

    func set(roundTrip: Duration, estimate: BitRate) {
        roundTripTime.store(roundTrip.nanoseconds, ordering: .relaxed)
        estimatedRate.store(estimate.bitsPerSecond, ordering: .relaxed)
    }

    var roundTrip: Duration? {
        let time = roundTripTime.load(ordering: .relaxed)
        return time > 0 ? .nanoseconds(time) : nil
    }

    /// The estimated capacity towards the participant.
    var estimate: BitRate? {
        let rate = estimatedRate.load(ordering: .relaxed)
        return rate > 0 ? BitRate(bitsPerSecond: rate) : nil
    }
}
