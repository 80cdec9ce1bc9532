package import Basics
import Codecs

/// The thresholds for speech, and how soon the active speaker changes.
package struct SpeakerDetectorConfiguration: Hashable, Sendable {
    /// The lowest level of speech in dBov, however low the noise is.
    package var quietestSpeech = -50.0
    /// How far speech exceeds the sender's own noise, in dB.
    package var aboveNoise = 9.0
    /// How fast the noise estimate rises, in dB/s: gaps in speech bring it down again, while a fan has none.
    package var noiseRise = 2.5
    /// How much speech makes a participant count as speaking: a cough or a keystroke is shorter.
    package var attack = Duration.milliseconds(240)
    /// How much silence makes a participant count as silent: pauses between words are shorter.
    package var release = Duration.milliseconds(700)
    /// The minimum time before the active speaker changes again.
    package var hold = Duration.milliseconds(1500)
    /// How much louder than the speaking active speaker an interrupting participant must be, in dB.
    package var interruption = 6.0

    package init() {}
}

/// Detects who speaks from the levels of all participants, with enough inertia that the layout stays calm.
///
/// A value; time is an argument. `active` changes to a speaking participant when the active one is silent or clearly
/// quieter. It stays when nobody speaks, and becomes nil only when the active participant leaves.
package struct SpeakerDetector: Sendable {
    package let configuration: SpeakerDetectorConfiguration
    /// The active speaker, who has the large tile.
    package private(set) var active: String?
    /// All participants who speak now, whose tiles have a border.
    package private(set) var speaking: Set<String> = []
    /// All participants who were ever active, the latest first; the index is `LayoutMember.speakerRank`.
    package private(set) var ranks: [String] = []

    private struct Participant {
        var noise: Double
        var smoothed: Double
        /// Nanoseconds of speech: it increases during speech and decreases in gaps.
        var evidence: Int64 = 0
        var isSpeaking = false
        var lastSpeech = Instant.distantPast
    }

    private var participants: [String: Participant] = [:]
    private var activeSince = Instant.distantPast
    private var lastUpdate: Instant?

    package init(configuration: SpeakerDetectorConfiguration = SpeakerDetectorConfiguration()) {
        self.configuration = configuration
    }

    /// Takes the levels (dBov) of all participants at one audio tick, muted ones as silence; a participant without a
    /// level has left. Returns the active speaker.
    @discardableResult
    package mutating func update(levels: [String: Double], at now: Instant) -> String? {
        let elapsed = lastUpdate.map { max(0, min((now - $0).nanoseconds, 200_000_000)) } ?? 20_000_000
        lastUpdate = now
        participants = participants.filter { levels[$0.key] != nil }
        ranks.removeAll { levels[$0] == nil }
        if let current = active, levels[current] == nil { active = nil }
        for (id, level) in levels { measure(id, level.isNaN ? LevelMeter.silence : level, elapsed, now) }
        speaking = Set(participants.filter(\.value.isSpeaking).keys)
        choose(now)
        return active
    }

    private mutating func measure(_ id: String, _ level: Double, _ elapsed: Int64, _ now: Instant) {
        var participant = participants[id] ?? Participant(noise: min(level, -60), smoothed: level)
        let seconds = Double(elapsed) / 1e9
        // The estimate falls at once, because the quietest moment is the noise, and rises slowly.
        participant.noise =
            level < participant.noise
            ? max(level, -100) : min(level, participant.noise + configuration.noiseRise * seconds)
        // The level rises within a syllable and falls over a pause: gaps between syllables must not lower it.
        participant.smoothed =
            level > participant.smoothed
            ? participant.smoothed + (level - participant.smoothed) * min(1, seconds / 0.1)
            : max(level, participant.smoothed - 15 * seconds)
        let isSpeech = level >= configuration.quietestSpeech && level >= participant.noise + configuration.aboveNoise
        if isSpeech {
            participant.evidence = min(participant.evidence + elapsed, configuration.attack.nanoseconds)
            participant.lastSpeech = now
        } else {
            // Evidence decreases at half the speed, because speech has gaps between syllables.
            participant.evidence = max(participant.evidence - elapsed / 2, 0)
        }
        if participant.evidence >= configuration.attack.nanoseconds { participant.isSpeaking = true }
        if now - participant.lastSpeech >= configuration.release { participant.isSpeaking = false }
        participants[id] = participant
    }

    private mutating func choose(_ now: Instant) {
        // Among several candidates the loudest is chosen, by id where levels are equal, so that a replay gives the
        // same.
        let candidates = participants.filter { $0.value.isSpeaking && $0.key != active }
        guard
            let loudest = candidates.max(by: {
                $0.value.smoothed == $1.value.smoothed ? $0.key > $1.key : $0.value.smoothed < $1.value.smoothed
            })
        else { return }
        if let current = active, let participant = participants[current] {
            guard now - activeSince >= configuration.hold else { return }
            if participant.isSpeaking, loudest.value.smoothed < participant.smoothed + configuration.interruption {
                return
            }
        }
        active = loudest.key
        activeSince = now
        ranks.removeAll { $0 == loudest.key }
        ranks.insert(loudest.key, at: 0)
    }
}
