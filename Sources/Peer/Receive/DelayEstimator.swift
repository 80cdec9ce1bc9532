import Basics

/// How late packets come, relative to the fastest of the last two seconds, and the delay that covers 95 % of them.
///
/// Every 100 ms the largest delay is added to a histogram with a decay of seconds, so that one late packet changes
/// nothing, while a disturbance shows within two intervals and is forgotten within ten seconds.
struct DelayEstimator: Sendable {
    static let window: Duration = .seconds(2)
    static let interval: Duration = .milliseconds(100)
    static let bucket: Int64 = 5_000_000
    /// Decay per interval: a time constant of 2.5 s.
    static let forget = 0.961
    static let quantile = 0.95

    private var fastest = SlidingMinimum()
    private var histogram = [Double](repeating: 0, count: 101)
    private var total = 0.0
    private var intervalStart: Instant?
    private var intervalMaximum: Int64 = 0
    private var slowSince: Instant?
    private var slowCount = 0

    /// Arrival − media time of the fastest packet, in nanoseconds; nil before the first.
    var base: Int64? { fastest.value }

    /// Records a packet and returns its delay relative to the fastest.
    mutating func insert(mediaTime: Int64, arrival: Instant) -> Duration {
        let offset = arrival.nanoseconds &- mediaTime
        fastest.insert(offset, at: arrival, window: Self.window)
        var delay = offset &- (base ?? offset)
        // All packets were slow for 300 ms: the path changed, and waiting for the window to pass would cost two
        // seconds.
        if delay > 200_000_000 {
            if slowSince == nil { slowSince = arrival }
            slowCount += 1
            if let slowSince, arrival - slowSince > .milliseconds(300), slowCount > 5 {
                fastest = SlidingMinimum()
                fastest.insert(offset, at: arrival, window: Self.window)
                self.slowSince = nil
                slowCount = 0
                delay = 0
            }
        } else {
            slowSince = nil
            slowCount = 0
        }
        if let start = intervalStart, arrival - start >= Self.interval {
            close()
            intervalStart = arrival
            intervalMaximum = delay
        } else {
            if intervalStart == nil { intervalStart = arrival }
            intervalMaximum = max(intervalMaximum, delay)
        }
        return .nanoseconds(delay)
    }

    /// The delay that covers the quantile, at a bucket's upper edge; nil before the end of the first interval.
    var delay: Duration? {
        guard total > 0 else { return nil }
        var sum = 0.0
        for (index, weight) in histogram.enumerated() {
            sum += weight
            if sum >= Self.quantile * total { return .nanoseconds(Int64(index + 1) * Self.bucket) }
        }
        return .nanoseconds(Int64(histogram.count) * Self.bucket)
    }

    /// Forgets the offsets at a new stream or a jump of its clock; the distribution of the jitter remains valid.
    mutating func rebase() {
        fastest = SlidingMinimum()
        slowSince = nil
        slowCount = 0
        intervalStart = nil
    }

    private mutating func close() {
        for index in histogram.indices { histogram[index] *= Self.forget }
        let index = Int(min(max(intervalMaximum / Self.bucket, 0), Int64(histogram.count - 1)))
        histogram[index] += 1
        total = total * Self.forget + 1
    }
}
