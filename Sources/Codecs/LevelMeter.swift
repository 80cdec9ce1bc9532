import Glibc

/// How loud something is.
public enum LevelMeter {
    /// Silence, and the lowest level that RFC 6464 can say.
    public static let silence = -127.0

    /// The root mean square in dBov: 0 is a full-scale square wave, a full-scale sine has −3 (RFC 6465 §3); at least
    /// −127.
    public static func level(_ samples: UnsafeBufferPointer<Float>) -> Double {
        guard !samples.isEmpty else { return silence }
        var sum: Float = 0
        for sample in samples { sum += sample * sample }
        let mean = Double(sum) / Double(samples.count)
        guard mean.isFinite, mean > 0 else { return silence }
        return max(silence, min(0, 10 * log10(mean)))
    }

    /// The same of an array.
    public static func level(_ samples: [Float]) -> Double { samples.withUnsafeBufferPointer { level($0) } }

    /// Of samples, as the header extension of RFC 6464 carries it.
    public static func headerValue(of samples: [Float]) -> UInt8 { headerValue(level(samples)) }

    /// As the header extension of RFC 6464 carries it: 0 (loudest) … 127.
    public static func headerValue(_ level: Double) -> UInt8 { UInt8(clamping: Int((-level).rounded())) }
}
