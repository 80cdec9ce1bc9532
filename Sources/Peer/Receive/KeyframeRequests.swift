import Basics

/// When a keyframe is requested, and when the request is repeated.
struct KeyframeRequests: Sendable {
    /// At the start, reordering may delay a keyframe's first packet.
    private static let startGrace: Duration = .milliseconds(50)

    private let configuration: VideoReceiveConfiguration
    /// Whether a keyframe is needed, be the stream interrupted until it comes or not.
    private(set) var isNeeded = false
    private var last: Instant?
    /// Whether the last request was for the keyframe that is still needed.
    private var isRetry = false
    private var streamBegan = Instant.zero
    private var hadKeyframe = false

    init(_ configuration: VideoReceiveConfiguration) {
        self.configuration = configuration
    }

    /// Records the first packet of the stream.
    mutating func start(at now: Instant) { streamBegan = now }

    mutating func need() { isNeeded = true }

    /// Requests another keyframe than the one that was requested before.
    mutating func needAnother() {
        isNeeded = true
        isRetry = false
    }

    /// Records that a keyframe was delivered.
    mutating func satisfied() {
        isNeeded = false
        isRetry = false
        hadKeyframe = true
    }

    /// The earliest time of the next request; nil: at once.
    func earliest(roundTrip: Duration) -> Instant? {
        if last == nil, !hadKeyframe { return streamBegan + Self.startGrace }
        return last.map { $0 + (isRetry ? retry(roundTrip: roundTrip) : configuration.keyframeRequestGap) }
    }

    /// The wait before a repetition: a lost request or answer costs its round trip and the time of an encoder and a
    /// pacer.
    private func retry(roundTrip: Duration) -> Duration {
        min(max(roundTrip * 2 + .milliseconds(300), configuration.keyframeRequestGap), configuration.keyframeRetry)
    }

    mutating func sent(at now: Instant) {
        last = now
        isRetry = true
    }
}
