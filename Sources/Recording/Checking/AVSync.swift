/// The offset between audio and video of a file, by flashes and beeps in its content.
package struct AVSync: Sendable, Equatable {
    /// The number of flashes with their beep.
    package var pairs: Int
    /// Seconds by which the audio is late, by the median; below zero: early.
    package var offset: Double
    /// The same of the first and of the last third of the pairs.
    package var atStart: Double
    package var atEnd: Double
    /// The largest difference of a pair from `offset`, in seconds.
    package var spread: Double

    /// The largest offset that is found, in seconds: flashes usually come each second.
    private static let reach = 0.5
    /// A pair within this of the median is a flash with its own beep.
    private static let tolerance = 0.06
    /// Of ordinary pictures and voices, one change in eight has a sound within the tolerance by chance.
    private static let leastShare = 0.6
    private static let leastPairs = 3

    /// nil where the content has no flashes with beeps.
    ///
    /// - Parameters:
    ///   - flashes: in seconds, in order.
    ///   - beeps: the same.
    init?(flashes: [Double], beeps: [Double]) {
        var offsets: [Double] = []
        var next = beeps[...]
        for flash in flashes {
            next = next.drop { $0 < flash - Self.reach }
            let near = next.prefix { $0 <= flash + Self.reach }.min { abs($0 - flash) < abs($1 - flash) }
            if let near { offsets.append(near - flash) }
        }
        guard let middle = Self.median(offsets) else { return nil }
        let pairs = offsets.filter { abs($0 - middle) <= Self.tolerance }
        let possible = min(flashes.count, beeps.count)
        guard pairs.count >= Self.leastPairs, Double(pairs.count) >= Double(possible) * Self.leastShare else {
            return nil
        }
        let third = max(1, pairs.count / 3)
        self.pairs = pairs.count
        offset = Self.median(pairs) ?? middle
        atStart = Self.median(Array(pairs.prefix(third))) ?? middle
        atEnd = Self.median(Array(pairs.suffix(third))) ?? middle
        spread = pairs.map { [offset] in abs($0 - offset) }.max() ?? 0
    }

    private static func median(_ values: [Double]) -> Double? {
        values.isEmpty ? nil : values.sorted()[values.count / 2]
    }
}
