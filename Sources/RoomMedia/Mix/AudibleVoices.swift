import Basics

/// Chooses the participants whose audio is decoded where many talk at once: the loudest by their announced levels, a
/// few more than are mixed, and for a while those who were among them. A value without a clock.
struct AudibleVoices {
    /// A chosen participant stays chosen for this long, so that no word is cut off.
    static let hold = Duration.seconds(1)
    /// How many more are decoded than mixed: a sender's announced level differs a little from the mixer's measurement.
    static let spare = 2

    private var lastChosen: [String: Instant] = [:]

    /// - Parameters:
    ///   - ratings: levels in dBov of the participants who do not rest.
    ///   - most: how many are mixed at once.
    mutating func choose(_ ratings: [(id: String, rating: Double)], most: Int, at now: Instant) -> Set<String> {
        lastChosen = lastChosen.filter { now - $0.value <= Self.hold }
        let loudest = ratings.sorted { $0.rating == $1.rating ? $0.id < $1.id : $0.rating > $1.rating }.prefix(
            most + Self.spare)
        for (id, _) in loudest { lastChosen[id] = now }
        return Set(lastChosen.keys)
    }
}
