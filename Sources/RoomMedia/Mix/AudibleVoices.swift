import Basics

/// Of many who say something at once, those whose sound is decoded: the loudest by their own word, a few more than are
/// mixed, and for a while those who were among them. A value without a clock.
struct AudibleVoices {
    /// Somebody who is decoded stays so this long, so that nobody goes in the middle of a word.
    static let hold = Duration.seconds(1)
    /// More than are mixed: what somebody says of its own level is not exactly what the mixer finds.
    static let spare = 2

    private var lastChosen: [String: Instant] = [:]

    /// - Parameters:
    ///   - ratings: in dBov, of those who do not rest.
    ///   - most: how many are mixed at once.
    mutating func choose(_ ratings: [(id: String, rating: Double)], most: Int, at now: Instant) -> Set<String> {
        lastChosen = lastChosen.filter { now - $0.value <= Self.hold }
        let loudest = ratings.sorted { $0.rating == $1.rating ? $0.id < $1.id : $0.rating > $1.rating }.prefix(
            most + Self.spare)
        for (id, _) in loudest { lastChosen[id] = now }
        return Set(lastChosen.keys)
    }
}
