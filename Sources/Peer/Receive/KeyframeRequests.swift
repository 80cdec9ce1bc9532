import Basics

/// When a keyframe is asked for, and when again.
struct KeyframeRequests: Sendable {
    /// At the start a keyframe's first packet may have been overtaken.
    private static let startGrace: Duration = .milliseconds(50)

    private let configuration: VideoReceiveConfiguration
    /// A keyframe is needed, whether the stream stands still until it comes or not.
    private(set) var isWanted = false
    private var last: Instant?
    /// The last request was for the keyframe that is wanted still.
    private var isRetry = false
    private var streamBegan = Instant.zero
    private var hadKeyframe = false

    init(_ configuration: VideoReceiveConfiguration) {
        self.configuration = configuration
    }

    /// The first packet of the stream came.
    mutating func start(at now: Instant) { streamBegan = now }

    mutating func want() { isWanted = true }

    /// Another keyframe is needed than the one that was asked for.
    mutating func wantAnew() {
        isWanted = true
        isRetry = false
    }

    /// A keyframe was given out.
    mutating func satisfied() {
        isWanted = false
        isRetry = false
        hadKeyframe = true
    }

    /// From when on the next request may be sent; nil: at once.
    func earliest(roundTrip: Duration) -> Instant? {
        if last == nil, !hadKeyframe { return streamBegan + Self.startGrace }
        return last.map { $0 + (isRetry ? retry(roundTrip: roundTrip) : configuration.keyframeRequestGap) }
    }

    /// A lost request, or a lost answer, costs no more than its own way and what an encoder and a pacer take.
    private func retry(roundTrip: Duration) -> Duration {
        min(max(roundTrip * 2 + .milliseconds(300), configuration.keyframeRequestGap), configuration.keyframeRetry)
    }

    mutating func sent(at now: Instant) {
        last = now
        isRetry = true
    }
}
