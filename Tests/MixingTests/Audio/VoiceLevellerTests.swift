import Basics
import Glibc
import TestSupport
import Testing

@testable import Mixing

@Suite("Voice leveller") struct VoiceLevellerTests {
    /// The level of a sound in dBov.
    private func level(_ samples: some Sequence<Float>) -> Double {
        let (sum, count) = samples.reduce((0.0, 0.0)) { ($0.0 + Double($1 * $1), $0.1 + 1) }
        return 10 * log10(max(sum / count, 1e-12))
    }

    /// Speech of this peak amplitude: syllables of 200 ms with pauses of 60 ms, of a voice with overtones.
    private func speech(_ amplitude: Float, tick: Int) -> [Float] {
        let voice = zip(
            sine(180, from: tick * 960, count: 960, amplitude: amplitude * 0.6),
            sine(720, from: tick * 960, count: 960, amplitude: amplitude * 0.4)
        ).map(+)
        return tick % 13 < 10 ? voice : voice.map { $0 * 0.01 }
    }

    private func run(_ leveller: inout VoiceLeveller, _ samples: [Float]) -> [Float] {
        var samples = samples
        samples.withUnsafeMutableBufferPointer { leveller.process($0) }
        return samples
    }

    @Test("A tone of 997 Hz at full scale has −3.01 LUFS, and one of 60 Hz less")
    func weighting() throws {
        var configuration = VoiceLevellerConfiguration()
        configuration.range = 0
        for (frequency, expected, tolerance) in [(997.0, -3.01, 0.05), (60, -6.6, 0.3), (10_000, 0.2, 1)] {
            var leveller = VoiceLeveller(configuration: configuration)
            for tick in 0..<150 { _ = run(&leveller, sine(frequency, from: tick * 960, count: 960, amplitude: 1)) }
            let loudness = try #require(leveller.loudness)
            #expect(abs(loudness - expected) < tolerance, "\(frequency) Hz: \(loudness)")
        }
    }

    @Test("A whisper and a shout are within 4 dB after 5 s", arguments: [(0.03, 0.4), (0.05, 0.7), (0.1, 0.3)])
    func common(whisper: Float, shout: Float) {
        var levels: [Double] = []
        for amplitude in [whisper, shout] {
            var leveller = VoiceLeveller()
            var heard: [Float] = []
            for tick in 0..<350 {
                let out = run(&leveller, speech(amplitude, tick: tick))
                if tick >= 250 { heard += out }
            }
            levels.append(level(heard))
        }
        #expect(level(speech(shout, tick: 0)) - level(speech(whisper, tick: 0)) > 9)
        #expect(abs(levels[0] - levels[1]) < 4, "\(levels)")
    }

    @Test("No gain exceeds 12 dB", arguments: [0.012, 1] as [Float])
    func range(amplitude: Float) {
        var leveller = VoiceLeveller()
        for tick in 0..<1000 { _ = run(&leveller, speech(amplitude, tick: tick)) }
        #expect(abs(leveller.gain) <= 12.0001 && abs(leveller.gain) > 10)
    }

    @Test("The noise of a quiet room is not raised, neither before speech nor after it")
    func silence() {
        var random = SeededRandom(seed: 1)
        func noise() -> [Float] { (0..<960).map { _ in Float.random(in: -0.003...0.003, using: &random) } }
        var leveller = VoiceLeveller()
        for _ in 0..<250 {
            let sound = noise()
            #expect(run(&leveller, sound) == sound)
        }
        for tick in 0..<300 { _ = run(&leveller, speech(0.03, tick: tick)) }
        #expect(leveller.gain > 6)
        for _ in 0..<60 { _ = run(&leveller, noise()) }
        for _ in 0..<250 {
            let sound = noise()
            #expect(abs(level(run(&leveller, sound)) - level(sound)) < 0.1)
        }
        // The next syllable is raised again.
        let sound = speech(0.03, tick: 0)
        _ = run(&leveller, sound)
        #expect(level(run(&leveller, sound)) - level(sound) > 6)
    }

    @Test("In continuous speech the gain changes by at most 0.12 dB a tick, and by less than 1 dB in 10 s at last")
    func noPumping() {
        var leveller = VoiceLeveller()
        var (gains, last): ([Double], Double) = ([], 0)
        for tick in 0..<1000 {
            _ = run(&leveller, speech(0.2, tick: tick))
            #expect(abs(leveller.gain - last) <= 0.1201)
            last = leveller.gain
            if tick >= 500 { gains.append(leveller.gain) }
        }
        #expect(gains.max()! - gains.min()! < 1)
    }

    @Test("A cough does not silence the voice after it")
    func cough() {
        var leveller = VoiceLeveller()
        for tick in 0..<8 { _ = run(&leveller, speech(1, tick: tick)) }
        for tick in 0..<500 { _ = run(&leveller, speech(0.05, tick: tick)) }
        #expect(leveller.gain > 0)
    }

    @Test("NaN and infinity of a broken decoder do not stay")
    func broken() {
        var leveller = VoiceLeveller()
        for value in [Float.nan, .infinity, 1e30] {
            _ = run(&leveller, [Float](repeating: value, count: 960))
            for tick in 0..<200 { _ = run(&leveller, speech(0.1, tick: tick)) }
            #expect(leveller.gain.isFinite && run(&leveller, speech(0.1, tick: 0)).allSatisfy(\.isFinite))
        }
        _ = run(&leveller, [])
    }
}
