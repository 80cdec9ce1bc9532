/// A least-squares line through points: its slope, y over x, is `covariance / variance`.
struct Regression {
    /// Both are unnormalised sums over the points.
    private(set) var covariance = 0.0
    private(set) var variance = 0.0

    init(_ points: [(x: Double, y: Double)]) {
        let count = Double(points.count)
        let meanX = points.reduce(0) { $0 + $1.x } / count
        let meanY = points.reduce(0) { $0 + $1.y } / count
        for point in points {
            covariance += (point.x - meanX) * (point.y - meanY)
            variance += (point.x - meanX) * (point.x - meanX)
        }
    }
}
