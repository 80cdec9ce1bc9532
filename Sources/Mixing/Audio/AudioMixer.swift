import Codecs
import Glibc

/// One participant's sound of one tick.
public struct AudioMixInput {
    public var id: String
    /// `AudioMixer.samplesPerTick` of them, mono, 48 kHz, ±1; fewer are followed by silence.
    public var samples: UnsafeBufferPointer<Float>
    /// The volume that a moderator or the server gave; 1 leaves it. A muted one has 0.
    public var gain: Float

    public init(id: String, samples: UnsafeBufferPointer<Float>, gain: Float = 1) {
        self.id = id
        self.samples = samples
        self.gain = gain
    }
}

/// Who is heard at once.
public struct AudioMixerConfiguration: Hashable, Sendable {
    /// So many of the loudest are heard at once: more would only add their noise.
    public var maxSpeakers = 6
    /// Who is quieter is not mixed (and so needs no encode of their own). dBov.
    public var threshold = -65.0
    /// Who was heard stays in the mix for so many ticks after: 600 ms of 20 ms ticks, so that word ends and pauses
    /// stay.
    public var holdTicks = 30
    /// A newcomer must be so much louder than who would have to go. dB.
    public var replacementMargin = 6.0

    public init() {}
}

/// Mixes a room's voices: one sum of all, and for each who is in it the same without them. 48 kHz, mono, 20 ms a tick.
///
/// Confined to one thread. Whose sound is not in the mix hears the same as everybody else who is silent, so one encode
/// serves them all: `contributors` are those who need their own. Every change of volume or membership is ramped over a
/// tick, and every output has a limiter whose gain goes on from tick to tick: nothing wraps, nothing clicks. All
/// outputs are 2.5 ms late by the limiters' look-ahead. Allocates only when contributors change.
public final class AudioMixer {
    public static let sampleRate = 48_000
    public static let samplesPerTick = 960

    public let configuration: AudioMixerConfiguration

    /// Who is in the mix of this tick, so that `mix(without:)` differs from `full` for them.
    public private(set) var contributors: [String] = []
    /// Everyone, for those who are silent and for recordings.
    public private(set) var full: [Float]
    /// dBov of every input of this tick, after its gain: for `SpeakerDetector` and level displays.
    public private(set) var levels: [String: Double] = [:]

    private struct Voice {
        var appliedGain: Float = 0
        /// Falls slowly from the last peak, so that who pauses for breath is not replaced.
        var rating = LevelMeter.silence
        var quietTicks = Int.max
        /// This tick's sound with its gain.
        var samples = [Float](repeating: 0, count: samplesPerTick)
        var isIn = false
    }

    private struct Output {
        var limiter: Limiter
        var samples: [Float]
    }

    private var voices: [String: Voice] = [:]
    private var outputs: [String: Output] = [:]
    private var fullLimiter = Limiter()
    private var sum = [Float](repeating: 0, count: samplesPerTick)

    public init(configuration: AudioMixerConfiguration = AudioMixerConfiguration()) {
        self.configuration = configuration
        full = [Float](repeating: 0, count: Self.samplesPerTick)
    }

    /// Takes the sound of a tick. Call it once a tick, without inputs too: what the limiters hold must go out.
    ///
    /// Who is missing has left or is silent. An id that comes twice counts once.
    public func mix(_ inputs: [AudioMixInput]) {
        rate(inputs)
        let chosen = choose()
        for index in sum.indices { sum[index] = 0 }
        contributors.removeAll(keepingCapacity: true)
        var seen: Set<String> = []
        for input in inputs where seen.insert(input.id).inserted {
            guard var voice = voices[input.id] else { continue }
            // Out of the dictionary while it is changed, so that its buffer is not copied.
            voices[input.id] = nil
            let wanted = chosen.contains(input.id) ? Self.sane(input.gain) : 0
            voice.isIn = wanted != 0 || voice.appliedGain != 0
            if voice.isIn {
                apply(input.samples, from: voice.appliedGain, to: wanted, into: &voice.samples)
                for index in sum.indices { sum[index] += voice.samples[index] }
                contributors.append(input.id)
            }
            voice.appliedGain = wanted
            voices[input.id] = voice
        }
        // Who left in mid-word is not ramped: their sound ended with their last sample.
        for id in Array(voices.keys) where !seen.contains(id) { voices[id] = nil }

        // The limiter of a new contributor starts as the one they heard until now.
        let before = fullLimiter
        for index in sum.indices { full[index] = sum[index] }
        fullLimiter.process(&full)
        var next: [String: Output] = [:]
        for id in contributors {
            var output = outputs[id] ?? Output(limiter: before, samples: sum)
            outputs[id] = nil
            if let own = voices[id]?.samples {
                for index in 0..<Self.samplesPerTick { output.samples[index] = sum[index] - own[index] }
            }
            output.limiter.process(&output.samples)
            next[id] = output
        }
        outputs = next
    }

    /// What this participant hears in this tick: everyone but themselves.
    public func mix(without id: String) -> [Float] { outputs[id]?.samples ?? full }

    /// The gain of that participant's output (1: not limited), for tests and statistics.
    public func limiterGain(without id: String) -> Float { outputs[id]?.limiter.gain ?? fullLimiter.gain }

    // MARK: Who is in

    private static func sane(_ gain: Float) -> Float { gain.isFinite ? max(0, min(gain, 16)) : 0 }

    private func rate(_ inputs: [AudioMixInput]) {
        levels.removeAll(keepingCapacity: true)
        for input in inputs where levels[input.id] == nil {
            let gain = Self.sane(input.gain)
            var level = gain > 0 ? LevelMeter.level(input.samples) : LevelMeter.silence
            if gain != 1, gain > 0 { level = max(LevelMeter.silence, level + 20 * log10(Double(gain))) }
            levels[input.id] = level
            voices[input.id, default: Voice()].rating = max(level, (voices[input.id]?.rating ?? level) - 0.5)
            if gain == 0 {
                voices[input.id]?.quietTicks = Int.max
                voices[input.id]?.rating = LevelMeter.silence
            } else if level >= configuration.threshold {
                voices[input.id]?.quietTicks = 0
            } else if let quiet = voices[input.id]?.quietTicks, quiet < Int.max {
                voices[input.id]?.quietTicks = quiet + 1
            }
        }
    }

    /// The loudest of those who can be heard, with a preference for who is in already.
    private func choose() -> Set<String> {
        let audible = voices.filter { levels[$0.key] != nil && $0.value.quietTicks <= configuration.holdTicks }
        if audible.count <= configuration.maxSpeakers { return Set(audible.keys) }
        func score(_ entry: (key: String, value: Voice)) -> Double {
            entry.value.rating + (entry.value.appliedGain > 0 ? configuration.replacementMargin : 0)
        }
        let sorted = audible.sorted { score($0) == score($1) ? $0.key < $1.key : score($0) > score($1) }
        return Set(sorted.prefix(configuration.maxSpeakers).map(\.key))
    }

    private func apply(
        _ samples: UnsafeBufferPointer<Float>, from first: Float, to last: Float, into out: inout [Float]
    ) {
        let count = min(samples.count, Self.samplesPerTick)
        let step = (last - first) / Float(Self.samplesPerTick)
        for index in 0..<count {
            let sample = samples[index] * (first + step * Float(index + 1))
            // One broken decoder must not silence the room.
            out[index] = sample.isFinite ? sample : 0
        }
        for index in count..<Self.samplesPerTick { out[index] = 0 }
    }
}
