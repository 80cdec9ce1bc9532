/// The link's capacity as seen at the moments of overuse: the acknowledged rate then.
///
/// libwebrtc `link_capacity_estimator.cc`.
struct LinkCapacity: Sendable {
    static let weight = 0.05
    static let deviationRange = 0.4...2.5
    static let standardDeviations = 3.0

    /// kbit/s
    private var estimate: Double?
    /// Normalized variance of the estimate.
    private var deviation = 0.4

    var isKnown: Bool { estimate != nil }
    /// bit/s
    var rate: Double? { estimate.map { $0 * 1000 } }

    /// bit/s; an acknowledged rate within this range belongs to the same link capacity.
    var range: ClosedRange<Double>? {
        guard let estimate else { return nil }
        let spread = Self.standardDeviations * (deviation * estimate).squareRoot()
        return max(0, estimate - spread) * 1000...(estimate + spread) * 1000
    }

    mutating func overused(at acknowledged: Double) {
        update(sample: acknowledged / 1000)
    }

    mutating func reset() {
        estimate = nil
    }

    private mutating func update(sample: Double) {
        let weight = Self.weight
        guard let old = estimate else {
            estimate = sample
            return
        }
        let new = (1 - weight) * old + weight * sample
        estimate = new
        let error = new - sample
        deviation = (1 - weight) * deviation + weight * error * error / max(new, 1)
        deviation = min(max(deviation, Self.deviationRange.lowerBound), Self.deviationRange.upperBound)
    }
}
