package import Basics

/// The rungs that a room of a given canvas offers.
package struct Ladder: Hashable, Sendable {
    package struct Rung: Hashable, Sendable {
        package var width: Int
        package var height: Int
        package var framesPerSecond: Int
        package var bitRate: BitRate
    }

    package let rungs: [Rung]
    /// A still every few seconds, at the lowest rung's size.
    package let stills: Rung

    /// The time between stills. With the time that one takes on the link, which grows with every dip of the estimate, a
    /// viewer still gets one within 5 s.
    package static let stillInterval = Duration.milliseconds(3500)

    /// A rung of a size that is at most this many times a configured one's replaces that one: two renditions of nearly
    /// one size would cost two encodes and serve nobody better.
    private static let nearlySame = 1.25

    /// The top rung has the canvas' own size, whatever is configured: a picture that is composed is also sent. Others
    /// keep its shape, with even sides. A configured height means the shorter side, so that an upright canvas has rungs
    /// of the same numbers of pixels as a wide one.
    package init(_ configured: [RoomMediaConfiguration.Rung], width: Int, height: Int, framesPerSecond: Int) {
        let (short, long) = (max(1, min(width, height)), max(width, height))
        var rungs: [Rung] = []
        for rung in Self.reaching(short, configured.sorted { $0.height > $1.height }) {
            let side = max(16, min(rung.height, short) & ~1)
            let other = max(16, (long * side / short + 1) & ~1)
            let (w, h) = height > width ? (side, other) : (other, side)
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
        stills = Rung(width: low.width, height: low.height, framesPerSecond: 1, bitRate: .kilobits(60))
    }

    package init(_ configured: [RoomMediaConfiguration.Rung], _ format: ViewFormat) {
        self.init(
            format.rungs ?? configured, width: format.width, height: format.height,
            framesPerSecond: format.framesPerSecond)
    }

    /// These rungs, from the top down, with one for a canvas that is larger than all of them. Its rate grows with the
    /// number of pixels to the power of 0.75, as does the rate at which x264's pictures look equally good.
    private static func reaching(_ side: Int, _ rungs: [RoomMediaConfiguration.Rung]) -> [RoomMediaConfiguration.Rung] {
        guard let top = rungs.first, top.height < side else { return rungs }
        let growth = Double(side) / Double(top.height)
        let own = RoomMediaConfiguration.Rung(
            height: side, framesPerSecond: top.framesPerSecond, bitRate: top.bitRate * (growth * growth.squareRoot()))
        return [own] + rungs.drop { Double(side) <= Double($0.height) * nearlySame }
    }

    /// The highest useful estimate of a link: the top rung with the headroom of a step up to it, audio, and some
    /// repair.
    package var usefulRate: BitRate {
        let top = rungs.map(\.bitRate).max() ?? .zero
        return top * RenditionSelector.Configuration().headroom * 1.3 + .kilobits(100)
    }

    /// The number of a choice's H.264 parameter sets, 0 to 31: different for the sizes between which a peer may move,
    /// and most likely different after a change of the canvas too.
    package func parameterSetID(for choice: RenditionSelector.Choice) -> Int {
        let place =
            switch choice {
            case .rung(let index): min(max(index, 0), 6)
            case .stills, .audioOnly: 7
            }
        return (rungs[0].width + 2 * rungs[0].height) / 80 % 4 * 8 + place
    }

    package func rung(for choice: RenditionSelector.Choice) -> Rung? {
        switch choice {
        case .rung(let index): rungs.indices.contains(index) ? rungs[index] : rungs.last
        case .stills: stills
        case .audioOnly: nil
        }
    }
}
