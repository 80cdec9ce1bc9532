import Glibc

/// `count` samples of a sine at 48 kHz from sample `start` on.
package func sine(_ frequency: Double, from start: Int = 0, count: Int, amplitude: Float = 0.5) -> [Float] {
    let step = 2 * Double.pi * frequency / 48_000
    return (start..<start + count).map { amplitude * Float(sin(step * Double($0))) }
}

/// The amplitude of a frequency in samples of 48 kHz, by Goertzel's algorithm: 1 for a sine of amplitude 1.
package func strength(of frequency: Double, in samples: some Collection<Float>) -> Double {
    let coefficient = 2 * cos(2 * .pi * frequency / 48_000)
    var (s1, s2) = (0.0, 0.0)
    for sample in samples { (s1, s2) = (Double(sample) + coefficient * s1 - s2, s1) }
    let power = s1 * s1 + s2 * s2 - coefficient * s1 * s2
    return 2 * max(0, power).squareRoot() / Double(max(samples.count, 1))
}

/// The mean of the strengths in blocks of 100 ms, so that a jump of the phase, as concealment on a busy machine makes
/// it, does not count as silence.
package func meanStrength(of frequency: Double, in samples: some Collection<Float>) -> Double {
    var rest = samples[...]
    var blocks: [Double] = []
    while rest.count >= 4800 {
        blocks.append(strength(of: frequency, in: rest.prefix(4800)))
        rest = rest.dropFirst(4800)
    }
    return blocks.reduce(0, +) / Double(max(blocks.count, 1))
}
