import Basics

/// The rungs that a room of a given canvas offers.
package struct Ladder: Hashable, Sendable {
    package struct Rung: Hashable, Sendable {
        package var width: Int
        package var height: Int
        package var framesPerSecond: Int
        package var bitRate: BitRate
    }

    package let rungs: [Rung]
    /// One picture every few seconds at the lowest rung's size.
    package let slides: Rung

    /// How far apart slides are. With the time that one takes on the line, which grows with every dip of the estimate,
    /// nobody waits 5 s.
    package static let slideInterval = Duration.milliseconds(3500)

    /// No rung is larger than the canvas; widths keep its shape and are even.
    package init(_ configured: [RoomMediaConfiguration.Rung], width: Int, height: Int, framesPerSecond: Int) {
        var rungs: [Rung] = []
        for rung in configured.sorted(by: { $0.height > $1.height }) {
            let h = max(16, min(rung.height, height) & ~1)
            let w = max(16, (width * h / max(height, 1) + 1) & ~1)
            let fps = max(1, min(rung.framesPerSecond ?? framesPerSecond, framesPerSecond))
            // Two that collapse into the canvas' size are one: the smaller rate is the one meant for that size.
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
        slides = Rung(width: low.width, height: low.height, framesPerSecond: 1, bitRate: .kilobits(60))
    }

    /// What a line can be worth at most: the top rung with the room that a step up to it asks for, sound, and some
    /// repair.
    package var usefulRate: BitRate {
        let top = rungs.map(\.bitRate).max() ?? .zero
        return top * RenditionSelector.Configuration().headroom * 1.3 + .kilobits(100)
    }

    /// 0 to 31, another for each size between which a peer may be moved, and most likely another after a change of the
    /// canvas too: the number of its H.264 parameter sets.
    package func parameterSetID(for choice: RenditionSelector.Choice) -> Int {
        let place =
            switch choice {
            case .rung(let index): min(max(index, 0), 6)
            case .slides, .audioOnly: 7
            }
        return (rungs[0].width + 2 * rungs[0].height) / 80 % 4 * 8 + place
    }

    package func rung(for choice: RenditionSelector.Choice) -> Rung? {
        switch choice {
        case .rung(let index): rungs.indices.contains(index) ? rungs[index] : rungs.last
        case .slides: slides
        case .audioOnly: nil
        }
    }
}
