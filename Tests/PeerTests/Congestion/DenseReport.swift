import Basics

@testable import Peer

extension BandwidthEstimator {
    /// - Parameter arrivals: from `base` on, one per number: arrival on the peer's clock, or nil when it was not seen.
    mutating func receive(feedback base: SequenceNumber, arrivals: [Duration?], at now: Instant) {
        let seen = arrivals.enumerated().compactMap { offset, time in time.map { (offset: offset, time: $0) } }
        receive(ArrivalReport(base: base, count: arrivals.count, arrivals: seen), at: now)
    }
}
