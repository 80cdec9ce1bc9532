package import Basics

/// The participants of a room by their loudness of the last seconds, the loudest first.
///
/// A value; time is an argument. The order changes every three seconds at most, and one participant overtakes another
/// only when it is clearly louder, so that a layout that follows it stays calm.
package struct LoudnessRanks: Sendable {
    /// The time between two changes of the order.
    static let period = Duration.seconds(3)
    /// How much louder than the one before it a participant must be to overtake it, in dB.
    static let margin = 4.0
    /// How fast a silent participant's loudness falls, in dB/s.
    static let fall = 1.0
    /// The time in which the loudness approaches the level of speech.
    private static let rise = 2.0

    /// All participants who ever spoke, the loudest first.
    package private(set) var order: [String] = []
    private var loudness: [String: Double] = [:]
    private var lastUpdate: Instant?
    private var lastChange: Instant?

    package init() {}

    /// Takes the levels (dBov) of all participants at one audio tick; a participant without a level has left.
    ///
    /// - Parameter speaking: the participants whose level is that of speech.
    package mutating func update(levels: [String: Double], speaking: Set<String>, at now: Instant) {
        let seconds = lastUpdate.map { Double(max(0, min((now - $0).nanoseconds, 200_000_000))) / 1e9 } ?? 0.02
        lastUpdate = now
        loudness = loudness.filter { levels[$0.key] != nil }
        order.removeAll { levels[$0] == nil }
        for (id, known) in loudness where !speaking.contains(id) {
            loudness[id] = max(known - Self.fall * seconds, -127)
        }
        for id in speaking {
            guard let level = levels[id], level.isFinite else { continue }
            let known = loudness[id] ?? level
            loudness[id] = known + (level - known) * min(1, seconds / Self.rise)
        }
        if let lastChange, now - lastChange < Self.period { return }
        lastChange = now
        rank()
    }

    private mutating func rank() {
        order += loudness.keys.filter { !order.contains($0) }.sorted()
        for index in order.indices.dropFirst() {
            var place = index
            while place > 0,
                loudness[order[place], default: -127]
                    > loudness[order[place - 1], default: -127] + Self.margin
            {
                order.swapAt(place, place - 1)
                place -= 1
            }
        }
    }
}
