import Glibc

/// The level to which voices are brought, and how fast.
package struct VoiceLevellerConfiguration: Hashable, Sendable {
    /// The common loudness of all voices, in LUFS (the programme loudness of EBU R 128).
    package var target = -23.0
    /// The most that a voice is raised or lowered, in dB.
    package var range = 12.0
    /// Audio below this is silence, in LUFS: it is not measured and not raised.
    package var gate = -50.0
    /// Audio that is this much quieter than the voice is a pause, in LU (BS.1770 has 10 for programmes; the ends of
    /// words are quieter).
    package var relativeGate = 15.0
    /// How long the voice is measured, in ticks of speech (3 s, the short-term window of EBU R 128).
    package var window = 150
    /// The change of the gain in dB/s, while a new voice is measured for the first time and afterwards.
    package var firstRate = 6.0
    package var rate = 2.0
    /// How long a raised voice stays raised in a pause, in ticks: the pauses between words are shorter (700 ms).
    package var hold = 35

    package init() {}
}

/// Brings one participant's voice to the common loudness, so that a whisper and a shout are heard alike.
///
/// A value, for one voice and 20 ms of mono audio at 48 kHz per call. The loudness is measured after ITU-R BS.1770-4
/// Annex 1 (K-weighted mean square with an absolute and a relative gate), over the last seconds of speech. The gain
/// follows slowly, changes in speech only, and is linear within a tick. In a longer pause a raised voice returns to its
/// own level, so that the noise of a quiet room is not raised; it is raised again with the first tick of speech.
package struct VoiceLeveller: Sendable {
    package let configuration: VoiceLevellerConfiguration
    /// The gain of the voice in dB.
    package private(set) var gain = 0.0 { didSet { if gain != oldValue { factor = Float(pow(10, gain / 20)) } } }
    /// The same as a factor of the samples.
    package private(set) var factor: Float = 1
    /// The loudness of the last seconds of speech in LUFS, before the gain; nil before the first speech.
    package var loudness: Double? { ticks > 0 ? Self.loudness(ofMeanSquare: meanSquare) : nil }

    private var weighting = KWeighting()
    /// The mean of the squares of the K-weighted samples in the ticks of speech.
    private var meanSquare = 0.0
    /// The ticks of speech so far, at most a window.
    private var ticks = 0
    /// The ticks since the last speech.
    private var pause = Int.max / 2
    /// The factor at the end of the last tick.
    private var applied: Float = 1

    package init(configuration: VoiceLevellerConfiguration = VoiceLevellerConfiguration()) {
        self.configuration = configuration
    }

    /// Measures one tick and applies the gain to it.
    package mutating func process(_ samples: UnsafeMutableBufferPointer<Float>) {
        guard !samples.isEmpty else { return }
        measure(Self.finite(weighting.meanSquare(samples)))
        // Without speech the level of the room stays as it is.
        let next = pause > configuration.hold ? min(factor, 1) : factor
        let step = (next - applied) / Float(samples.count)
        for index in samples.indices { samples[index] *= applied + step * Float(index + 1) }
        applied = next
    }

    /// Counts a tick of digital silence, which needs no gain.
    package mutating func skip() {
        weighting = KWeighting()
        pause = min(pause + 1, Int.max / 2)
    }

    private mutating func measure(_ square: Double) {
        let level = Self.loudness(ofMeanSquare: square)
        let isSpeech =
            level > configuration.gate && loudness.map { level > $0 - configuration.relativeGate } ?? true
        guard isSpeech else {
            pause = min(pause + 1, Int.max / 2)
            // A voice that has become much quieter for good is measured anew.
            if pause > configuration.window, level > configuration.gate { ticks = 0 }
            return
        }
        pause = 0
        let isNew = ticks < configuration.window
        ticks = min(ticks + 1, configuration.window)
        meanSquare += (square - meanSquare) / Double(ticks)
        // The first syllables say little about the voice.
        guard ticks >= Self.firstTicks, let loudness else { return }
        let wanted = max(-configuration.range, min(configuration.range, configuration.target - loudness))
        let most = (isNew ? configuration.firstRate : configuration.rate) / Self.ticksPerSecond
        gain += max(-most, min(most, wanted - gain))
    }

    /// 200 ms.
    private static let firstTicks = 10
    private static let ticksPerSecond = 50.0

    /// ITU-R BS.1770-4 Annex 1, formula 2, for one channel.
    static func loudness(ofMeanSquare square: Double) -> Double {
        square > 0 ? max(-120, -0.691 + 10 * log10(square)) : -120
    }

    /// NaN or infinity of a broken decoder must not spoil the measurement for good.
    private static func finite(_ square: Double) -> Double { square.isFinite ? min(square, 1e3) : 0 }
}

/// The K-weighting of ITU-R BS.1770-4 Annex 1 at 48 kHz: a shelf for the effect of the head (table 1), then a high-pass
/// filter (table 2).
private struct KWeighting: Sendable {
    private var shelf = Biquad(
        b0: 1.53512485958697, b1: -2.69169618940638, b2: 1.19839281085285, a1: -1.69065929318241, a2: 0.73248077421585)
    private var highPass = Biquad(b0: 1, b1: -2, b2: 1, a1: -1.99004745483398, a2: 0.99007225036621)

    /// Filters the samples and returns the mean of the squares of the result.
    mutating func meanSquare(_ samples: UnsafeMutableBufferPointer<Float>) -> Double {
        var (first, second, sum) = (shelf, highPass, 0.0)
        for sample in samples {
            let weighted = second.filter(first.filter(Double(sample)))
            sum += weighted * weighted
        }
        guard sum.isFinite else {
            self = KWeighting()
            return 0
        }
        (shelf, highPass) = (first, second)
        return sum / Double(samples.count)
    }
}

/// A filter of second order in transposed direct form II, which needs two values of state.
private struct Biquad: Sendable {
    let b0, b1, b2, a1, a2: Double
    private var s1 = 0.0, s2 = 0.0

    init(b0: Double, b1: Double, b2: Double, a1: Double, a2: Double) {
        (self.b0, self.b1, self.b2, self.a1, self.a2) = (b0, b1, b2, a1, a2)
    }

    mutating func filter(_ input: Double) -> Double {
        let output = b0 * input + s1
        s1 = b1 * input - a1 * output + s2
        s2 = b2 * input - a2 * output
        return output
    }
}
