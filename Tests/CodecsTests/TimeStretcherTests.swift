import Basics
import Codecs
import TestSupport
import Testing

@Suite struct TimeStretcherTests {
    @Test(
        "A sine keeps its pitch and its continuity at any tempo", arguments: [0.75, 0.9, 1.0, 1.1, 1.3],
        [100.0, 220, 440, 1000])
    func continuity(tempo: Double, frequency: Double) {
        var stretcher = TimeStretcher()
        var output: [Float] = []
        let input = sine(frequency, count: 96_000)
        for start in stride(from: 0, to: input.count, by: 960) {
            stretcher.stretch(Array(input[start..<start + 960]), tempo: tempo, into: &output)
        }
        let ratio = Double(input.count) / Double(output.count)
        #expect(abs(ratio - tempo) < 0.02, "\(ratio)")
        // The largest step of a sine is amplitude × angular frequency; a joint may exceed it a little, a click by far.
        let steepest = Float(0.5 * 2 * Double.pi * frequency / 48_000)
        let worst = zip(output, output.dropFirst()).map { abs($1 - $0) }.max() ?? 0
        #expect(worst < steepest * 1.4 + 0.004, "\(worst) \(steepest)")
        // The level stays the same in every 20 ms.
        for start in stride(from: 960, to: output.count - 960, by: 480) {
            #expect(output[start..<start + 960].map(abs).max() ?? 0 > 0.42)
        }
        if tempo == 1 { #expect(output == input) }
    }

    @Test("Noise, silence and short blocks are stretched too")
    func anything() {
        var random = SeededRandom(seed: 5)
        for size in [120, 480, 960, 1920, 2880] {
            var stretcher = TimeStretcher()
            var output: [Float] = []
            var fed = 0
            for index in 0..<200 {
                let block = (0..<size).map { _ in index % 3 == 0 ? 0 : Float.random(in: -1...1, using: &random) }
                stretcher.stretch(block, tempo: index % 2 == 0 ? 1.25 : 1.2, into: &output)
                fed += size
            }
            #expect(output.allSatisfy { abs($0) <= 1 } && output.count <= fed)
            if size >= 480 { #expect(Double(output.count) < Double(fed) * 0.88, "\(size)") }
        }
    }
}
