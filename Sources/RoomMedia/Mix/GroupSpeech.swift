import Basics
import Mixing

/// Who speaks in a group. A value; time is an argument.
struct GroupSpeech {
    private var detector = SpeakerDetector()
    private var loudness = LoudnessRanks()
    private var speakers = Speakers()

    /// Takes a tick of the participants' levels, in dBov. Returns the speakers where they have changed.
    mutating func update(_ levels: [String: Double], at now: Instant) -> Speakers? {
        detector.update(levels: levels, at: now)
        loudness.update(levels: levels, speaking: detector.speaking, at: now)
        let heard = Speakers(
            active: detector.active, ranks: detector.ranks, speaking: detector.speaking, loudest: loudness.order)
        if heard == speakers { return nil }
        speakers = heard
        return heard
    }
}
