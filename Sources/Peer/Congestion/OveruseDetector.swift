import Basics

/// How the link is used, according to the delay.
enum LinkUsage: Sendable {
    case underused, normal, overused
}

/// Compares the delay trend with a threshold that adapts, so that a concurrent TCP flow does not starve us.
///
/// draft-ietf-rmcat-gcc-02 §5.4; constants of libwebrtc `trendline_estimator.cc`.
struct OveruseDetector: Sendable {
    static let initialThreshold = 12.5
    static let thresholdRange = 6.0...600.0
    static let gainUp = 0.0087
    static let gainDown = 0.039
    /// A trend that is further above the threshold than this is a spike and does not move the threshold.
    static let spike = 15.0
    /// Overuse must last this long, in ms.
    static let leastOveruse = 10.0
    static let longestStep = 100.0

    private var threshold = initialThreshold
    private var previousTrend = 0.0
    private var timeOver: Double?
    private var count = 0
    private var updated: Instant?
    private(set) var usage: LinkUsage = .normal

    /// - Parameters:
    ///   - trend: the modified trend in ms.
    ///   - sendDelta: time between the two groups' departures.
    mutating func update(trend: Double, sendDelta: Duration, at now: Instant) -> LinkUsage {
        if trend > threshold {
            timeOver = timeOver.map { $0 + sendDelta.inMilliseconds } ?? sendDelta.inMilliseconds / 2
            count += 1
            if let over = timeOver, over > Self.leastOveruse, count > 1, trend >= previousTrend {
                timeOver = 0
                count = 0
                usage = .overused
            }
        } else {
            timeOver = nil
            count = 0
            usage = trend < -threshold ? .underused : .normal
        }
        previousTrend = trend
        adapt(to: trend, at: now)
        return usage
    }

    mutating func reset() {
        previousTrend = 0
        timeOver = nil
        count = 0
        usage = .normal
    }

    private mutating func adapt(to trend: Double, at now: Instant) {
        defer { updated = now }
        let magnitude = abs(trend)
        guard let updated, magnitude <= threshold + Self.spike else { return }
        let step = min((now - updated).inMilliseconds, Self.longestStep)
        let gain = magnitude < threshold ? Self.gainDown : Self.gainUp
        threshold += gain * (magnitude - threshold) * step
        threshold = min(max(threshold, Self.thresholdRange.lowerBound), Self.thresholdRange.upperBound)
    }
}
