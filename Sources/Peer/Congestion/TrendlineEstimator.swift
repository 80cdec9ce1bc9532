import Basics

/// The slope of the queueing delay: a line through the last groups' smoothed, accumulated delay changes.
///
/// libwebrtc `trendline_estimator.cc`.
struct TrendlineEstimator: Sendable {
    /// Groups in the regression.
    static let window = 20
    /// Weight of the past in the exponential smoothing.
    static let smoothing = 0.9
    /// Brings the slope to the scale of the overuse threshold.
    static let gain = 4.0
    /// Groups after which the slope counts fully.
    static let fullWeight = 60

    /// Time and delay, in ms.
    private var points: [(x: Double, y: Double)] = []
    private var accumulated = 0.0
    private var smoothed = 0.0
    private var groups = 0
    private var arrival = 0.0

    /// Takes one change between groups; returns the modified trend in ms, comparable with the adaptive threshold.
    mutating func update(_ delta: InterArrivalGrouping.Delta) -> Double {
        groups = min(groups + 1, 1000)
        arrival += delta.arrival.inMilliseconds
        accumulated += (delta.arrival - delta.send).inMilliseconds
        smoothed = Self.smoothing * smoothed + (1 - Self.smoothing) * accumulated
        if points.count == Self.window { points.removeFirst() }
        points.append((arrival, smoothed))
        guard points.count == Self.window, let slope = slope() else { return 0 }
        return slope * Double(min(groups, Self.fullWeight)) * Self.gain
    }

    mutating func reset() {
        self = TrendlineEstimator()
    }

    /// Least squares; nil when all points have the same time.
    private func slope() -> Double? {
        let line = Regression(points)
        return line.variance > 0 ? line.covariance / line.variance : nil
    }
}
