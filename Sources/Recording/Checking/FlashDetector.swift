import Codecs

/// Finds the pictures in which a part becomes bright at once.
struct FlashDetector {
    /// The start of each flash, in seconds.
    private(set) var times: [Double] = []
    /// The mean brightness of each cell of the last two pictures.
    private var before: [[Int]] = []

    /// The picture is looked at in 8 × 8 cells: in a room of many a flash fills one tile.
    private static let cells = 8
    /// The rise of a cell's brightness (of 220 steps) that is a flash. Something bright that moves into a cell makes 50; a
    /// cut between two scenes may be a flash too.
    private static let rise = 80
    /// The time within which no other flash begins.
    private static let pause = 0.2

    mutating func take(_ picture: Picture, at seconds: Double) {
        let levels = Self.levels(picture)
        let isFlash = before.contains { old in zip(levels, old).contains { $0 - $1 > Self.rise } }
        before = before.suffix(1) + [levels]
        if isFlash, seconds - (times.last ?? -.infinity) > Self.pause { times.append(seconds) }
    }

    /// From a few samples of each cell.
    private static func levels(_ picture: Picture) -> [Int] {
        let (width, height) = (picture.width / cells, picture.height / cells)
        guard width > 0, height > 0 else { return [] }
        let steps = 4
        return (0..<cells * cells).map { cell in
            var sum = 0
            for sample in 0..<steps * steps {
                let x = cell % cells * width + (sample % steps * 2 + 1) * width / (steps * 2)
                let y = cell / cells * height + (sample / steps * 2 + 1) * height / (steps * 2)
                sum += Int(picture.y[y * picture.yStride + x])
            }
            return sum / (steps * steps)
        }
    }
}
