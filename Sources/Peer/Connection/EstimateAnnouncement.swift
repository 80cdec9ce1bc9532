import Basics

/// When the connection announces the estimate to its owner: when it moved by 5 %, at once downwards and at most five
/// times a second upwards; otherwise every second.
struct EstimateAnnouncement: Sendable {
    private static let step = 0.05
    private static let upwards: Duration = .milliseconds(200)
    private static let repeated: Duration = .seconds(1)

    private var last: (rate: BitRate, at: Instant)?

    /// Whether this rate is due to be announced; if so, it counts as announced.
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
