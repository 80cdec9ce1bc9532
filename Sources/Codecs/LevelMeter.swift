import Glibc

/// Measures the level of audio samples.
package enum LevelMeter {
    /// The level of silence in dBov, the lowest that RFC 6464 can carry.
    package static let silence = -127.0

    /// The root mean square in dBov, at least −127: a full-scale square wave has 0, a full-scale sine −3 (RFC 6465 §3).
    package static func level(_ samples: UnsafeBufferPointer<Float>) -> Double {
        guard !samples.isEmpty else { return silence }
        var sum: Float = 0
        for sample in samples { sum += sample * sample }
        let mean = Double(sum) / Double(samples.count)
        guard mean.isFinite, mean > 0 else { return silence }
        return max(silence, min(0, 10 * log10(mean)))
    }

    /// The level of an array, in dBov.
    package static func level(_ samples: [Float]) -> Double { samples.withUnsafeBufferPointer { level($0) } }

    /// The level of samples as the header extension of RFC 6464 carries it: 0 (loudest) … 127.
    package static func headerValue(of samples: [Float]) -> UInt8 { headerValue(level(samples)) }

    /// A level in dBov as the header extension of RFC 6464 carries it: 0 (loudest) … 127.
    package static func headerValue(_ level: Double) -> UInt8 { UInt8(clamping: Int((-level).rounded())) }
}
