import Basics

/// The rate that reaches the peer: the bytes that it reported as received, over short windows of its clock, smoothed by
/// how likely each window is.
///
/// libwebrtc `bitrate_estimator.cc`.
struct AcknowledgedRate: Sendable {
    static let firstWindow: Duration = .milliseconds(500)
    static let window: Duration = .milliseconds(150)
    /// How much a sample's distance from the estimate adds to its uncertainty.
    static let uncertaintyScale = 10.0
    /// A smaller scale for samples that fall while the application sends little.
    static let uncertaintyScaleLimited = 20.0
    static let drift = 5.0

    private var windowStart: Duration?
    private var lastArrival: Duration?
    private var bytes = 0
    private var variance = 50.0
    /// kbit/s
    private var estimate: Double?

    /// bit/s; nil until half a second of reports was received.
    var rate: Double? { estimate.map { $0 * 1000 } }

    mutating func add(size: Int, arrival: Duration, applicationLimited: Bool) {
        if let last = lastArrival, arrival < last - .seconds(1) || arrival - last > .seconds(2) {
            // The peer's clock jumped, or nothing was sent for a while: the bytes counted so far belong to no window.
            windowStart = nil
            bytes = 0
        }
        lastArrival = max(lastArrival ?? arrival, arrival)
        guard let start = windowStart else {
            windowStart = arrival
            bytes = size
            return
        }
        let length = estimate == nil ? Self.firstWindow : Self.window
        guard arrival - start >= length else {
            bytes += size
            return
        }
        let sample = Double(bytes) * 8 / (arrival - start).inMilliseconds
        windowStart = arrival
        bytes = size
        merge(sample, applicationLimited: applicationLimited)
    }

    private mutating func merge(_ sample: Double, applicationLimited: Bool) {
        guard let old = estimate else {
            estimate = sample
            return
        }
        let scale = applicationLimited && sample < old ? Self.uncertaintyScaleLimited : Self.uncertaintyScale
        let uncertainty = scale * abs(old - sample) / max(old + min(sample, old), 1)
        let sampleVariance = max(uncertainty * uncertainty, 0.01)
        let predicted = variance + Self.drift
        estimate = max(0, (sampleVariance * old + predicted * sample) / (sampleVariance + predicted))
        variance = sampleVariance * predicted / (sampleVariance + predicted)
    }
}
