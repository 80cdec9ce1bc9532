import Basics

/// When the owner is told of the estimate: when it moved by 5 %, at once downwards and at most five times a second
/// upwards; else each second.
struct EstimateAnnouncement: Sendable {
    private static let step = 0.05
    private static let upwards: Duration = .milliseconds(200)
    private static let repeated: Duration = .seconds(1)

    private var last: (rate: BitRate, at: Instant)?

    /// Whether the owner is to be told of this rate; then it counts as told.
    mutating func take(_ rate: BitRate, at now: Instant) -> Bool {
        if let last {
            let isDown = rate < last.rate * (1 - Self.step)
            let isUp = rate > last.rate * (1 + Self.step) && now - last.at >= Self.upwards
            guard isDown || isUp || now - last.at >= Self.repeated else { return false }
        }
        last = (rate, now)
        return true
    }
}
