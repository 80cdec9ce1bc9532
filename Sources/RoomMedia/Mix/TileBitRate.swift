import Basics

/// What a sender is asked for.
package struct SenderLimit: Hashable, Sendable {
    package var rate: BitRate
    /// Of its largest tile, to choose among simulcast layers; nil: it has none.
    package var height: Int?

    package init(rate: BitRate, height: Int? = nil) {
        self.rate = rate
        self.height = height
    }
}

/// What a sender's tile is worth: asking for more would be scaled away.
package enum TileBitRate {
    /// For 30 frames/s: 640×360 comes to 690 kbit/s, 320×180 to 170.
    private static let bitsPerPixel = 0.1
    private static let least = BitRate.kilobits(120)
    private static let most = BitRate.megabits(4)
    /// Of a sender whom no picture shows: enough to lift it again within a second.
    static let hidden = BitRate.kilobits(60)
    /// A screen's text must stay sharp, whatever its tile.
    static let screen = BitRate.megabits(2.5)

    /// `area` in canvas pixels; nil: no tile.
    package static func rate(area: Int?, isPresenting: Bool) -> BitRate {
        guard let area else { return hidden }
        let rate = BitRate(bitsPerSecond: Int(Double(area) * 30 * bitsPerPixel))
        return min(most, max(isPresenting ? screen : least, rate))
    }
}
