package import Basics

/// The rungs that a room of a given canvas offers.
package struct Ladder: Hashable, Sendable {
    package struct Rung: Hashable, Sendable {
        package var width: Int
        package var height: Int
        package var framesPerSecond: Int
        /// The encoder's highest bit rate …
        package var bitRate: BitRate
        /// … and its lowest: a member whose link carries less moves to another rung.
        package var leastBitRate: BitRate
        /// What a link of which nothing is known yet is taken to carry.
        package var untriedBitRate: BitRate

        package var pixels: Int { width * height }

        init(width: Int, height: Int, framesPerSecond: Int, bitRate: BitRate, leastShare: Double = Ladder.leastShare) {
            self.width = width
            self.height = height
            self.framesPerSecond = framesPerSecond
            self.bitRate = bitRate
            leastBitRate = bitRate * leastShare
            untriedBitRate = bitRate
        }
    }

    /// What AV1 shows on thin lines for the bits of other codecs' renditions.
    package struct Thin: Hashable, Sendable {
        /// In place of the lowest rung: at most 360 lines, 15 frames a second.
        package var rung: Rung
        /// At its size.
        package var stills: Rung
        /// In place of the lowest rung while a screen is shared: the canvas' size, five frames a second, so that text
        /// can be read.
        package var screen: Rung
    }

    package let rungs: [Rung]
    /// A still every few seconds, at the lowest rung's size.
    package let stills: Rung
    /// What some of the rungs are while a screen is shared, by their index: the bit rate and the pixels a second are the
    /// rung's, the size is the canvas'.
    package let screens: [Int: Rung]
    /// The picture of peers that wait for a rung's keyframe: half the canvas' height, 15 frames/s, 300 kbit/s beside a
    /// top rung of 1.5 Mbit/s, and as little as the lowest rung has for links that carry no more.
    package let joining: Rung
    /// nil where there is one rung alone, or the lowest is as large.
    package let thin: Thin?

    /// The time between stills. With the time that one takes on the link, which grows with every dip of the estimate, a
    /// viewer still gets one within 5 s.
    package static let stillInterval = Duration.milliseconds(3200)

    /// A rung of a size that is at most this many times a configured one's replaces that one: two renditions of nearly
    /// one size would cost two encodes and serve nobody better.
    private static let nearlySame = 1.25

    /// The lowest rate of a rung's encoder, as a share of the rung's.
    private static let leastShare = RenditionSelector.Configuration().lowest * RenditionControl.headers
    /// A still's bits never fall below this share of its rung's, at which the picture is still recognizable.
    private static let leastShareOfStill = 0.35

    /// A screen has at least this many frames a second: fewer show no pointer that moves.
    private static let leastScreenFrames = 5

    /// The thin rung's shorter side and frame rate.
    private static let (thinSide, thinFramesPerSecond) = (360, 15)

    /// The joining rendition's frame rate, and the least of its shorter side where the canvas is large enough.
    private static let joiningFramesPerSecond = 15
    private static let leastJoiningSide = 180

    /// The top rung has the canvas' own size, whatever is configured: a picture that is composed is also sent. Others
    /// keep its shape, with even sides. A configured height means the shorter side, so that an upright canvas has rungs
    /// of the same numbers of pixels as a wide one.
    package init(_ configured: [RoomMediaConfiguration.Rung], width: Int, height: Int, framesPerSecond: Int) {
        let (short, long) = (max(1, min(width, height)), max(width, height))
        func size(_ wanted: Int) -> (width: Int, height: Int) {
            let side = max(16, min(wanted, short) & ~1)
            let other = max(16, (long * side / short + 1) & ~1)
            return height > width ? (side, other) : (other, side)
        }
        var rungs: [Rung] = []
        for rung in Self.reaching(short, configured.sorted { $0.height > $1.height }) {
            let (w, h) = size(rung.height)
            let fps = max(1, min(rung.framesPerSecond ?? framesPerSecond, framesPerSecond))
            // Rungs above the canvas collapse into its size: the last one has the rate that is meant for that size.
            if rungs.last?.height == h { rungs.removeLast() }
            rungs.append(Rung(width: w, height: h, framesPerSecond: fps, bitRate: rung.bitRate))
        }
        if rungs.isEmpty {
            rungs = [
                Rung(width: width & ~1, height: height & ~1, framesPerSecond: framesPerSecond, bitRate: .kilobits(1000))
            ]
        }
        self.rungs = rungs
        let low = rungs[rungs.count - 1]
        stills = Rung(
            width: low.width, height: low.height, framesPerSecond: 1, bitRate: .kilobits(60),
            leastShare: Self.leastShareOfStill)
        var screens: [Int: Rung] = [:]
        for (index, rung) in rungs.enumerated().dropFirst() {
            let fps = rung.framesPerSecond * rung.pixels / rungs[0].pixels
            guard fps >= Self.leastScreenFrames else { continue }
            screens[index] = Rung(
                width: rungs[0].width, height: rungs[0].height, framesPerSecond: fps, bitRate: rung.bitRate)
        }
        self.screens = screens
        let half = size(max(short / 2, Self.leastJoiningSide))
        let fps = min(Self.joiningFramesPerSecond, rungs[0].framesPerSecond)
        let pixelRate =
            Double(half.width * half.height * fps) / Double(rungs[0].pixels * rungs[0].framesPerSecond)
        var joining = Rung(
            width: half.width, height: half.height, framesPerSecond: fps,
            bitRate: rungs[0].bitRate * Self.growth(ofPixelRate: pixelRate))
        joining.leastBitRate = min(joining.leastBitRate, low.leastBitRate)
        joining.untriedBitRate = min(joining.bitRate, low.bitRate)
        self.joining = joining
        let large = size(min(Self.thinSide, short))
        thin = rungs.count > 1 && large.width * large.height > low.pixels ? Self.thin(low, large, rungs[0]) : nil
    }

    private static func thin(_ low: Rung, _ size: (width: Int, height: Int), _ top: Rung) -> Thin {
        func least(_ configuration: RenditionSelector.Configuration) -> Double {
            configuration.lowestOfLowest * RenditionControl.headers
        }
        return Thin(
            rung: Rung(
                width: size.width, height: size.height, framesPerSecond: min(low.framesPerSecond, thinFramesPerSecond),
                bitRate: low.bitRate, leastShare: least(.thin)),
            stills: Rung(
                width: size.width, height: size.height, framesPerSecond: 1, bitRate: .kilobits(60),
                leastShare: leastShareOfStill),
            screen: Rung(
                width: top.width, height: top.height, framesPerSecond: min(leastScreenFrames, top.framesPerSecond),
                bitRate: low.bitRate, leastShare: least(.thinScreen)))
    }

    package init(_ configured: [RoomMediaConfiguration.Rung], _ format: ViewFormat) {
        self.init(
            format.rungs ?? configured, width: format.width, height: format.height,
            framesPerSecond: format.framesPerSecond)
    }

    /// The growth of the bit rate at which x264's pictures look equally good: that of the pixels a second to the power
    /// of 0.75.
    private static func growth(ofPixelRate growth: Double) -> Double {
        growth.squareRoot() * growth.squareRoot().squareRoot()
    }

    /// These rungs, from the top down, with one for a canvas that is larger than all of them.
    private static func reaching(_ side: Int, _ rungs: [RoomMediaConfiguration.Rung]) -> [RoomMediaConfiguration.Rung] {
        guard let top = rungs.first, top.height < side else { return rungs }
        let growth = Self.growth(ofPixelRate: Double(side * side) / Double(top.height * top.height))
        let own = RoomMediaConfiguration.Rung(
            height: side, framesPerSecond: top.framesPerSecond, bitRate: top.bitRate * growth)
        return [own] + rungs.drop { Double(side) <= Double($0.height) * nearlySame }
    }

    /// The highest useful estimate of a link: the top rung with the headroom of a step up to it, audio, and some
    /// repair.
    package var usefulRate: BitRate {
        let top = rungs.map(\.bitRate).max() ?? .zero
        return top * RenditionSelector.Configuration().headroom * 1.3 + .kilobits(100)
    }

    /// The number of a rendition's H.264 parameter sets, 0 to 31: different for the sizes between which a peer may
    /// move, and most likely different after a change of the canvas too.
    package func parameterSetID(for kind: RenditionKind) -> Int {
        let place =
            switch kind {
            case .rung(let index): min(max(index, 0), 4)
            case .screen: 5
            case .joining: 6
            case .stills: 7
            // The sender's encoder has its own.
            case .forwarded: 0
            }
        return (rungs[0].width + 2 * rungs[0].height) / 80 % 4 * 8 + place
    }

    /// The same, as it is in that codec.
    package func rung(for kind: RenditionKind, _ codec: VideoCodec) -> Rung {
        guard codec == .av1, let thin else { return rung(for: kind) }
        return switch kind {
        case .rung(let index) where index == rungs.count - 1: thin.rung
        case .screen(let index) where index == rungs.count - 1: thin.screen
        case .stills: thin.stills
        case .rung, .screen, .joining, .forwarded: rung(for: kind)
        }
    }

    package func rung(for kind: RenditionKind) -> Rung {
        switch kind {
        case .rung(let index): rungs[min(max(index, 0), rungs.count - 1)]
        case .screen(let index): screens[index] ?? rung(for: .rung(index))
        case .stills: stills
        case .joining: joining
        // At most what the canvas has.
        case .forwarded: rungs[0]
        }
    }
}
