/// Finds where audio becomes loud at once, and where it is silent.
struct BeepDetector {
    /// The start of each beep, in seconds.
    private(set) var times: [Double] = []
    /// The stretches of silence of at least `leastSilence`.
    private(set) var silences: [(start: Double, length: Double)] = []

    private var window: Float = 0
    private var filled = 0
    private var quietLevel: Float = 0
    private var silentSince: Double?
    private var end = 0.0

    private static let rate = 48_000.0
    /// Samples of one measure of the level: 1 ms.
    private static let windowLength = 48
    /// A beep is louder than −32 dBFS, and 18 dB louder than the last tenth of a second.
    private static let loud: Float = 0.025
    private static let step: Float = 8
    /// The share of the newest millisecond in the level of the last tenth of a second.
    private static let newest: Float = 0.02
    private static let pause = 0.2
    /// −90 dBFS, below what a decoder adds to silence.
    private static let silence: Float = 0.000_03
    static let leastSilence = 2.0
    /// The most stretches that are listed.
    private static let maxSilences = 1000

    /// - Parameter timestamp: of the first sample at 48 kHz.
    mutating func take(_ samples: [Float], timestamp: Int64) {
        for (index, sample) in samples.enumerated() {
            window += sample * sample
            filled += 1
            if filled < Self.windowLength { continue }
            let last = Double(timestamp + Int64(index) + 1) / Self.rate
            measure((window / Float(Self.windowLength)).squareRoot(), from: last - 0.001, to: last)
            (window, filled) = (0, 0)
        }
    }

    private mutating func measure(_ level: Float, from start: Double, to last: Double) {
        if level > Self.loud, level > quietLevel * Self.step, start - (times.last ?? -.infinity) > Self.pause {
            times.append(start)
        }
        quietLevel += (level - quietLevel) * Self.newest
        if level > Self.silence { endSilence(at: start) } else { silentSince = silentSince ?? start }
        end = last
    }

    private mutating func endSilence(at time: Double) {
        if let since = silentSince, time - since >= Self.leastSilence, silences.count < Self.maxSilences {
            silences.append((since, time - since))
        }
        silentSince = nil
    }

    mutating func finish() { endSilence(at: end) }
}
