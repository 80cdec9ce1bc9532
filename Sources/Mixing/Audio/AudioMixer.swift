import Codecs
import Glibc

/// The audio of one participant in one tick.
package struct AudioMixInput {
    package var id: String
    /// `AudioMixer.samplesPerTick` samples, mono, 48 kHz, ±1; missing ones at the end count as silence.
    package var samples: UnsafeBufferPointer<Float>
    /// The volume that a moderator or the server set: 1 leaves the level as it is, 0 is muted.
    package var gain: Float

    package init(id: String, samples: UnsafeBufferPointer<Float>, gain: Float = 1) {
        self.id = id
        self.samples = samples
        self.gain = gain
    }
}

/// Which participants are heard at once.
package struct AudioMixerConfiguration: Hashable, Sendable {
    /// How many participants are heard at once, the loudest first: more would only add their noise.
    package var maxSpeakers = 6
    /// The lowest level that is mixed, in dBov. A quieter participant needs no encode of their own.
    package var threshold = -65.0
    /// How long a participant stays in the mix after they were last heard, in ticks of 20 ms (600 ms), so that the ends
    /// of words and short pauses are not cut.
    package var holdTicks = 30
    /// How much louder than the participant that they replace another one must be, in dB.
    package var replacementMargin = 6.0

    package init() {}
}

/// Mixes the audio of a room: one sum of all contributors, and a mix-minus for each of them. 48 kHz, mono, 20 ms per
/// tick.
///
/// Confined to one thread. All participants who are not in the mix get the same output, so one encode serves them all;
/// the `contributors` need an encode each. Every change of volume or membership is ramped over a tick, and every output
/// has a limiter whose gain continues from tick to tick, so no output clips or clicks. The limiters' look-ahead delays
/// all outputs by 2.5 ms. The mixer allocates only when the contributors change, and 4 kB a tick while it makes `outgoing`.
package final class AudioMixer {
    package static let sampleRate = 48_000
    package static let samplesPerTick = 960

    package let configuration: AudioMixerConfiguration

    /// The participants in the mix of this tick, for whom `mix(without:)` differs from `full`.
    package private(set) var contributors: [String] = []
    /// The sum of all contributors, for participants who are not in the mix.
    package private(set) var full: [Float]
    /// The level of every input of this tick in dBov, after its gain, for `SpeakerDetector` and level displays.
    package private(set) var levels: [String: Double] = [:]

    /// The participants who are not in `outgoing`.
    package var leftOut: Set<String> = []
    /// Whether somebody takes `outgoing`.
    package var mixesOutgoing = false
    /// Whether `outgoing` is a mix of its own: while somebody is left out, and for two ticks more, in which a voice
    /// comes back by a ramp, and the limiter of `full` still holds back audio of who was left out.
    package var hasOutgoing: Bool { outgoingMix != nil }
    /// The sum of the contributors who are not left out, for recordings and streams.
    package var outgoing: [Float] { outgoingMix?.samples ?? full }

    private struct Voice {
        var appliedGain: Float = 0
        /// The level in dBov, falling slowly from the last peak, so that a short pause does not cost the place in the
        /// mix.
        var rating = LevelMeter.silence
        var quietTicks = Int.max
        /// The samples of this tick, with the gain applied.
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
    private var outgoingMix: Output?
    private var outgoingSum: [Float] = []
    /// Those who were left out of the last tick, and how many ticks `outgoing` is still a mix of its own.
    private var wasLeftOut: Set<String> = []
    private var outgoingTicks = 0

    package init(configuration: AudioMixerConfiguration = AudioMixerConfiguration()) {
        self.configuration = configuration
        full = [Float](repeating: 0, count: Self.samplesPerTick)
    }

    /// Mixes one tick. To be called once per tick, even without inputs, because the limiters hold back samples.
    ///
    /// A participant without an input has left or is silent. An id that occurs twice counts once.
    package func mix(_ inputs: [AudioMixInput]) {
        rate(inputs)
        let chosen = choose()
        for index in sum.indices { sum[index] = 0 }
        beginOutgoing()
        contributors.removeAll(keepingCapacity: true)
        var seen: Set<String> = []
        for input in inputs where seen.insert(input.id).inserted {
            guard var voice = voices[input.id] else { continue }
            // The voice is taken out of the dictionary while it is changed, so that its buffer is not copied.
            voices[input.id] = nil
            let wanted = chosen.contains(input.id) ? Self.clamped(input.gain) : 0
            voice.isIn = wanted != 0 || voice.appliedGain != 0
            if voice.isIn {
                apply(input.samples, from: voice.appliedGain, to: wanted, into: &voice.samples)
                for index in sum.indices { sum[index] += voice.samples[index] }
                addToOutgoing(input.id, voice.samples)
                contributors.append(input.id)
            }
            voice.appliedGain = wanted
            voices[input.id] = voice
        }
        // A participant who left in mid-word is not ramped: their audio ended with their last sample.
        for id in Array(voices.keys) where !seen.contains(id) { voices[id] = nil }

        // The limiter of a new contributor starts as a copy of the one whose output they got until now.
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
        endOutgoing()
    }

    // MARK: The mix without those who are left out

    private func beginOutgoing() {
        outgoingTicks = leftOut.isEmpty ? max(0, outgoingTicks - 1) : 3
        // Nothing that the limiter holds back may be of somebody who is left out from now on.
        if !mixesOutgoing || !leftOut.isSubset(of: wasLeftOut) { outgoingMix = nil }
        outgoingSum = mixesOutgoing && outgoingTicks > 0 ? [Float](repeating: 0, count: Self.samplesPerTick) : []
    }

    /// Those who come back begin with a ramp.
    private func addToOutgoing(_ id: String, _ samples: [Float]) {
        if outgoingSum.isEmpty || leftOut.contains(id) { return }
        if wasLeftOut.contains(id) {
            for index in outgoingSum.indices { outgoingSum[index] += samples[index] * Self.ramp(index) }
        } else {
            for index in outgoingSum.indices { outgoingSum[index] += samples[index] }
        }
    }

    private func endOutgoing() {
        wasLeftOut = leftOut
        if outgoingSum.isEmpty {
            outgoingMix = nil
            return
        }
        if outgoingMix == nil {
            outgoingMix = Output(limiter: Limiter(), samples: [])
            for index in outgoingSum.indices { outgoingSum[index] *= Self.ramp(index) }
        }
        outgoingMix?.samples = outgoingSum
        if var mix = outgoingMix {
            outgoingMix = nil
            mix.limiter.process(&mix.samples)
            outgoingMix = mix
        }
    }

    private static func ramp(_ index: Int) -> Float { Float(index + 1) / Float(samplesPerTick) }

    /// The output of this tick for one participant: the sum of all other contributors.
    package func mix(without id: String) -> [Float] { outputs[id]?.samples ?? full }

    /// The limiter's gain of a participant's output (1: not limited), for tests and statistics.
    package func limiterGain(without id: String) -> Float { outputs[id]?.limiter.gain ?? fullLimiter.gain }

    // MARK: The choice of contributors

    private static func clamped(_ gain: Float) -> Float { gain.isFinite ? max(0, min(gain, 16)) : 0 }

    private func rate(_ inputs: [AudioMixInput]) {
        levels.removeAll(keepingCapacity: true)
        for input in inputs where levels[input.id] == nil {
            let gain = Self.clamped(input.gain)
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

    /// The loudest audible participants, with a preference for those who are in the mix already.
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
            // NaN or infinity of one broken decoder must not silence the room.
            out[index] = sample.isFinite ? sample : 0
        }
        for index in count..<Self.samplesPerTick { out[index] = 0 }
    }
}
