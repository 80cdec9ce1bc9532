import Basics
import Codecs
import TestSupport
import Testing

@testable import Mixing

@Suite("Audio mixer") struct AudioMixerTests {
    private func tone(_ frequency: Double, _ amplitude: Float, tick: Int) -> [Float] {
        sine(frequency, from: tick * 960, count: 960, amplitude: amplitude)
    }

    private func mix(_ mixer: AudioMixer, _ sounds: [(String, [Float], Float)]) {
        // Each array is copied into a buffer of its own, whose pointer stays valid.
        let buffers = sounds.map { audio -> UnsafeMutableBufferPointer<Float> in
            let buffer = UnsafeMutableBufferPointer<Float>.allocate(capacity: audio.1.count)
            _ = buffer.initialize(from: audio.1)
            return buffer
        }
        defer { buffers.forEach { $0.deallocate() } }
        mixer.mix(zip(sounds, buffers).map { AudioMixInput(id: $0.0, samples: UnsafeBufferPointer($1), gain: $0.2) })
    }

    @Test("Each contributor hears all others but not themselves") func mixMinus() {
        let mixer = AudioMixer()
        let voices = [("a", 300.0), ("b", 500.0), ("c", 700.0)]
        var heard: [String: [Float]] = [:]
        for tick in 0..<10 {
            mix(
                mixer,
                voices.map { ($0.0, tone($0.1, 0.2, tick: tick), 1) } + [
                    ("quiet", [Float](repeating: 0, count: 960), 1)
                ])
            guard tick >= 5 else { continue }
            for id in ["a", "b", "c", "quiet"] { heard[id, default: []] += mixer.mix(without: id) }
        }
        for (id, samples) in heard {
            for (voice, frequency) in voices {
                let found = strength(of: frequency, in: samples)
                #expect(voice == id ? found < 0.001 : abs(found - 0.2) < 0.005, "\(voice) in \(id)'s: \(found)")
            }
        }
        #expect(Set(mixer.contributors) == ["a", "b", "c"])
    }

    @Test("No input, however loud, exceeds the ceiling or makes the output jump") func limiter() {
        let mixer = AudioMixer()
        var last: Float = 0
        for tick in 0..<100 {
            let amplitude: Float = tick % 20 < 10 ? 1 : 0.1
            mix(mixer, (0..<5).map { ("\($0)", tone(200 + Double($0) * 10, amplitude, tick: tick), 1) })
            for sample in mixer.full {
                #expect(abs(sample) <= Limiter.ceiling)
                last = sample
            }
        }
        #expect(last.isFinite)
    }

    @Test("A limited tone starts and ends without a click") func noClick() {
        let mixer = AudioMixer()
        var samples: [Float] = []
        for tick in 0..<60 {
            // The participant is always present; only the volume changes abruptly.
            mix(mixer, [("a", tone(200, 0.9, tick: tick), tick % 10 < 5 ? 2 : 0.2)])
            samples += mixer.full
        }
        // The steepest slope of 200 Hz at full scale, and what the ramps add.
        let steepest = zip(samples, samples.dropFirst()).map { abs($1 - $0) }.max() ?? 0
        #expect(steepest < 2 * .pi * 200 / 48_000 * 1.5)
    }

    @Test("Only the loudest participants are mixed, and muted ones never") func loudest() {
        let mixer = AudioMixer()
        for tick in 0..<5 {
            mix(mixer, (0..<10).map { ("\($0)", tone(200, 0.02 * Float($0 + 1), tick: tick), $0 == 9 ? 0 : 1) })
        }
        #expect(Set(mixer.contributors) == Set((3...8).map(String.init)))
    }

    @Test("NaN and infinity of one input do not silence the others") func garbage() {
        let mixer = AudioMixer()
        for tick in 0..<5 {
            mix(
                mixer,
                [
                    ("bad", [Float](repeating: .nan, count: 960), 1), ("good", tone(300, 0.3, tick: tick), .nan),
                    ("fine", tone(400, 0.3, tick: tick), 1),
                ])
        }
        let areFinite = mixer.full.allSatisfy { $0.isFinite }
        #expect(areFinite)
        #expect((mixer.full.map(abs).max() ?? 0) > 0.2)
    }

    @Test("A full-scale sine is −3 dBov") func level() {
        let level = tone(1000, 1, tick: 0).withUnsafeBufferPointer(LevelMeter.level)
        #expect(abs(level + 3.01) < 0.05)
        #expect([Float](repeating: 0, count: 960).withUnsafeBufferPointer(LevelMeter.level) == -127)
    }
}
