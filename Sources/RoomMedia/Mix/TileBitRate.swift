package import Basics

/// The limits of a sender's pictures.
package struct SenderLimits: Hashable, Sendable {
    package var camera: SenderLimit
    /// Of what is sent beside the camera; zero where nothing is shown.
    package var screen = SenderLimit(rate: .zero)

    package init(camera: SenderLimit) { self.camera = camera }
}

/// The limits that a sender is asked to keep for one picture.
package struct SenderLimit: Hashable, Sendable {
    package var rate: BitRate
    /// The height of its largest tile in pixels, to choose among simulcast layers; nil: it has no tile.
    package var height: Int?

    package init(rate: BitRate, height: Int? = nil) {
        self.rate = rate
        self.height = height
    }
}

/// The bit rate that a sender's largest tile needs: scaling would discard the detail of a higher one.
package enum TileBitRate {
    /// For 30 frames/s: 640×360 comes to 690 kbit/s, 320×180 to 170.
    private static let bitsPerPixel = 0.1
    private static let least = BitRate.kilobits(120)
    private static let most = BitRate.megabits(4)
    /// The rate of a sender without a tile: enough to raise it again within a second.
    static let hidden = BitRate.kilobits(60)
    /// The lowest rate of a shared screen, whose text must stay sharp in any tile.
    static let screen = BitRate.megabits(2.5)

    /// - Parameter area: of the largest tile, in canvas pixels; nil: no tile.
    package static func rate(area: Int?, isPresenting: Bool) -> BitRate {
        guard let area else { return hidden }
        let rate = BitRate(bitsPerSecond: Int(Double(area) * 30 * bitsPerPixel))
        return min(most, max(isPresenting ? screen : least, rate))
    }
}
