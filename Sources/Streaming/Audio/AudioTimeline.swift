/// Keeps the samples that go into an encoder on the room's clock, though blocks may be lost or come twice. A value.
struct AudioTimeline {
    /// What to do with a block before it is encoded.
    struct Placement: Equatable {
        /// Samples of silence to encode first.
        var silence = 0
        /// Samples at the block's start to leave out.
        var skipped = 0
    }

    /// The room time, in samples, of the encoder's sample 0.
    private(set) var origin: Int64?
    /// The samples that the encoder was given.
    private var given: Int64 = 0

    /// Rounding of ticks moves a block by a sample or two; 1 ms is no gap.
    private static let tolerance: Int64 = 48
    /// A longer gap is left out of the stream instead of filled.
    private static let longestFilled: Int64 = 48_000

    /// The place of a block; nil: all of it is there already.
    mutating func place(_ count: Int, at time: Int64) -> Placement? {
        guard let start = origin else {
            (origin, given) = (time, Int64(count))
            return Placement()
        }
        var placement = Placement()
        let gap = time - (start + given)
        if gap > Self.longestFilled {
            origin = start + gap
        } else if gap > Self.tolerance {
            placement.silence = Int(gap)
        } else if gap < -Self.tolerance {
            if -gap >= Int64(count) { return nil }
            placement.skipped = Int(-gap)
        }
        given += Int64(placement.silence + count - placement.skipped)
        return placement
    }
}
