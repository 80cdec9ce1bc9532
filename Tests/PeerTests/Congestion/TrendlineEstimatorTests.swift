import Basics
import Testing

@testable import Peer

@Suite("TrendlineEstimator")
struct TrendlineEstimatorTests {
    private static let spacing = Duration.milliseconds(20)

    /// The trends of groups that leave 20 ms apart and of which each waits `change(index)` ms longer than the one
    /// before it.
    private func trends(_ groups: Int, _ change: (Int) -> Double) -> [Double] {
        var estimator = TrendlineEstimator()
        return (0..<groups).map { index in
            let arrival = Self.spacing + .nanoseconds(Int64(change(index) * 1e6))
            return estimator.update(InterArrivalGrouping.Delta(send: Self.spacing, arrival: arrival))
        }
    }

    @Test("The trend is the slope of a queue that grows or drains evenly", arguments: [-5, -1, -0.2, 0.2, 1, 5])
    func slope(change: Double) throws {
        let trend = try #require(trends(200) { _ in change }.last)
        let slope = change / (20 + change)
        let expected = slope * Double(TrendlineEstimator.fullWeight) * TrendlineEstimator.gain
        #expect(abs(trend - expected) < 0.02 * abs(expected), "\(trend) for \(expected)")
    }

    @Test("The trend is zero before the window is full, and small with few groups")
    func start() {
        let trends = trends(120) { _ in 1 }
        #expect(trends.prefix(TrendlineEstimator.window - 1).allSatisfy { $0 == 0 })
        #expect(trends[TrendlineEstimator.window - 1] > 0)
        #expect(trends[29] < 0.5 * trends[119])
    }

    @Test("Jitter of 10 ms without a growing queue has no trend")
    func jitter() {
        var random = SeededRandom(seed: 5)
        var late = 0.0
        let trends = trends(1000) { _ in
            let next = Double.random(in: 0...10, using: &random)
            defer { late = next }
            return next - late
        }
        #expect(trends.suffix(900).allSatisfy { abs($0) < OveruseDetector.thresholdRange.lowerBound })
    }

    @Test("Groups that all arrived at once have no slope")
    func vertical() {
        var estimator = TrendlineEstimator()
        for _ in 0..<50 {
            #expect(estimator.update(InterArrivalGrouping.Delta(send: Self.spacing, arrival: .zero)) == 0)
        }
    }

    @Test("A reset forgets the past")
    func reset() {
        var estimator = TrendlineEstimator()
        for _ in 0..<100 {
            _ = estimator.update(InterArrivalGrouping.Delta(send: Self.spacing, arrival: .milliseconds(30)))
        }
        estimator.reset()
        for _ in 0..<100 {
            #expect(estimator.update(InterArrivalGrouping.Delta(send: Self.spacing, arrival: Self.spacing)) == 0)
        }
    }
}
