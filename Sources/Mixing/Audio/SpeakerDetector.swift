import Codecs
import Basics

/// What counts as speech, and how soon the active speaker changes.
public struct SpeakerDetectorConfiguration: Hashable, Sendable {
    /// Speech is at least this loud, whatever the noise. dBov.
    public var quietestSpeech = -50.0
    /// Speech stands out of the sender's own noise by so much. dB.
    public var aboveNoise = 9.0
    /// How fast the noise estimate follows upwards: speech has gaps that bring it down again, a fan has none. dB/s.
    public var noiseRise = 2.5
    /// So much speech makes somebody speaking: a cough or a key is shorter.
    public var attack = Duration.milliseconds(240)
    /// So much silence, beyond pauses between words, makes them silent.
    public var release = Duration.milliseconds(700)
    /// The active speaker stays at least so long.
    public var hold = Duration.milliseconds(1500)
    /// Who interrupts a speaking active speaker must be so much louder.
    public var interruption = 6.0

    public init() {}
}

/// Tells who speaks, from the levels of all, with enough inertia that pictures do not jump.
///
/// A value without a clock. `active` changes to who has been speaking while the last one is silent, or is clearly
/// louder; it stays when nobody speaks, and becomes nil only when the active one leaves.
public struct SpeakerDetector: Sendable {
    public let configuration: SpeakerDetectorConfiguration
    /// The one in the large tile.
    public private(set) var active: String?
    /// Everyone who speaks now: the borders.
    public private(set) var speaking: Set<String> = []
    /// All who ever were active, the latest first: `LayoutMember.speakerRank` is the index.
    public private(set) var ranks: [String] = []

    private struct Talker {
        var noise: Double
        var smoothed: Double
        /// Nanoseconds of speech, growing while there is some and shrinking while there is none.
        var evidence: Int64 = 0
        var isSpeaking = false
        var lastSpeech = Instant.distantPast
    }

    private var talkers: [String: Talker] = [:]
    private var activeSince = Instant.distantPast
    private var lastUpdate: Instant?

    public init(configuration: SpeakerDetectorConfiguration = SpeakerDetectorConfiguration()) {
        self.configuration = configuration
    }

    /// Takes the levels (dBov) of everyone present, muted ones as silence; absent ones have left. Call it with each
    /// audio tick. Returns the active speaker.
    @discardableResult
    public mutating func update(levels: [String: Double], at now: Instant) -> String? {
        let elapsed = lastUpdate.map { max(0, min((now - $0).nanoseconds, 200_000_000)) } ?? 20_000_000
        lastUpdate = now
        talkers = talkers.filter { levels[$0.key] != nil }
        ranks.removeAll { levels[$0] == nil }
        if let current = active, levels[current] == nil { active = nil }
        for (id, level) in levels { listen(to: id, level.isNaN ? LevelMeter.silence : level, elapsed, now) }
        speaking = Set(talkers.filter(\.value.isSpeaking).keys)
        choose(now)
        return active
    }

    private mutating func listen(to id: String, _ level: Double, _ elapsed: Int64, _ now: Instant) {
        var talker = talkers[id] ?? Talker(noise: min(level, -60), smoothed: level)
        let seconds = Double(elapsed) / 1e9
        // Down at once (the quietest moment is the noise), up slowly.
        talker.noise =
            level < talker.noise ? max(level, -100) : min(level, talker.noise + configuration.noiseRise * seconds)
        // Up within a syllable, down over a pause: gaps between syllables must not make somebody seem quieter.
        talker.smoothed =
            level > talker.smoothed
            ? talker.smoothed + (level - talker.smoothed) * min(1, seconds / 0.1)
            : max(level, talker.smoothed - 15 * seconds)
        let isSpeech = level >= configuration.quietestSpeech && level >= talker.noise + configuration.aboveNoise
        if isSpeech {
            talker.evidence = min(talker.evidence + elapsed, configuration.attack.nanoseconds)
            talker.lastSpeech = now
        } else {
            // Half as fast: syllables have gaps.
            talker.evidence = max(talker.evidence - elapsed / 2, 0)
        }
        if talker.evidence >= configuration.attack.nanoseconds { talker.isSpeaking = true }
        if now - talker.lastSpeech >= configuration.release { talker.isSpeaking = false }
        talkers[id] = talker
    }

    private mutating func choose(_ now: Instant) {
        // Of several, the loudest; by name where equal, so that a replay is the same.
        let candidates = talkers.filter { $0.value.isSpeaking && $0.key != active }
        guard
            let loudest = candidates.max(by: {
                $0.value.smoothed == $1.value.smoothed ? $0.key > $1.key : $0.value.smoothed < $1.value.smoothed
            })
        else { return }
        if let current = active, let talker = talkers[current] {
            guard now - activeSince >= configuration.hold else { return }
            if talker.isSpeaking, loudest.value.smoothed < talker.smoothed + configuration.interruption { return }
        }
        active = loudest.key
        activeSince = now
        ranks.removeAll { $0 == loudest.key }
        ranks.insert(loudest.key, at: 0)
    }
}
