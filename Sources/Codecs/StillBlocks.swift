import Basics

/// Decides which macroblocks an encoder need not code: those that have stood still for so long that they are sharp.
///
/// An encoder that is not told spends its whole rate on refining what stands still. A block that stops moving is coded
/// until it is sharp, then left alone but for one frame in each `refresh`. A value; time is the frame's timestamp.
struct StillBlocks {
    /// How long a block is coded after it changed last, in ticks of 90 kHz: two seconds. After one, VP8 at
    /// 150 kbit/s leaves it 1.7 dB worse than if it went on; after two, 0.5 dB, and the moving part gains 1.1.
    static let sharpening: Int64 = 180_000
    /// … and in how many frames at least, for renditions with few frames a second.
    static let frames: UInt8 = 12
    /// Each still block is coded in one of so many frames: filters at its edges must not add up, and a receiver that
    /// showed it damaged gets it again.
    static let refresh = 64
    /// A rate that has grown by this much since a block was coded makes it worth coding again.
    static let rateStep = 1.25

    /// One for each block that is to be coded, 0 for each that is still; row by row.
    private(set) var active: [UInt8] = []
    /// Whether any block is still.
    private(set) var hasStill = false

    private var columns = 0
    /// When each block began to be coded with what it shows.
    private var since: [Int64] = []
    /// In how many frames it has been coded since, up to `frames`.
    private var coded: [UInt8] = []
    private var generation: UInt64 = 0
    private var count = 0
    private var rate: BitRate = .zero

    /// Takes the map of the next picture. Without a map, or with one of another size, everything is to be coded.
    mutating func prepare(_ map: ChangeMap?, timestamp: Int64, rate: BitRate) {
        guard let map else {
            self = StillBlocks()
            return
        }
        if map.columns != columns || map.changed.count != since.count || map.generation < generation {
            columns = map.columns
            since = [Int64](repeating: timestamp, count: map.changed.count)
            coded = [UInt8](repeating: 0, count: map.changed.count)
            active = [UInt8](repeating: 1, count: map.changed.count)
            generation = 0
            self.rate = rate
        }
        if rate > self.rate * Self.rateStep {
            restart(at: timestamp)
            self.rate = rate
        }
        hasStill = false
        for index in since.indices {
            if map.changed[index] > generation {
                since[index] = timestamp
                coded[index] = 0
            }
            let isSharp = coded[index] >= Self.frames && timestamp - since[index] >= Self.sharpening
            let isStill = isSharp && (count + index) % Self.refresh != 0
            active[index] = isStill ? 0 : 1
            hasStill = hasStill || isStill
        }
        generation = map.generation
    }

    /// Notes that the picture was coded, not dropped. A keyframe is coarse: everything is coded again after it.
    mutating func noteCoded(isKeyframe: Bool, timestamp: Int64, rate: BitRate) {
        count += 1
        if isKeyframe {
            restart(at: timestamp)
            self.rate = rate
        }
        for index in coded.indices where coded[index] < Self.frames { coded[index] += 1 }
    }

    private mutating func restart(at timestamp: Int64) {
        for index in since.indices {
            since[index] = timestamp
            coded[index] = 0
        }
    }
}
