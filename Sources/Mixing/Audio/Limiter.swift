/// Keeps a sum of voices below full scale without clipping and without a click.
///
/// Looks ahead by one slice of 2.5 ms, by which it delays the sound. The gain at each border between two slices is at
/// most what the louder of both allows, and goes in a straight line between borders: so no sample exceeds the ceiling,
/// whatever comes in.
struct Limiter {
    /// Samples; 2.5 ms at 48 kHz. The look-ahead, and with it the attack.
    static let slice = 120
    /// −1 dBFS: Opus may overshoot a little when it decodes.
    static let ceiling: Float = 0.891
    /// Back to full gain within 250 ms, linearly: slow enough not to pump.
    static let releasePerSlice: Float = 0.01

    /// The slice that was looked at but not put out yet.
    private var held = [Float](repeating: 0, count: slice)
    private var heldGain: Float = 1
    /// The gain at the border where the held slice begins.
    private(set) var gain: Float = 1

    /// Replaces `samples` (a multiple of a slice) by the limited ones of one slice before.
    mutating func process(_ samples: inout [Float]) {
        var start = 0
        while start + Self.slice <= samples.count {
            var peak: Float = 0
            for index in start..<start + Self.slice {
                // What is no number, or absurdly large, would poison the gain for good.
                if !(abs(samples[index]) <= 1e6) { samples[index] = 0 }
                peak = max(peak, abs(samples[index]))
            }
            let allowed = peak > Self.ceiling ? Self.ceiling / peak : 1
            let next = min(heldGain, allowed, gain + Self.releasePerSlice)
            let step = (next - gain) / Float(Self.slice)
            for offset in 0..<Self.slice {
                let limited = held[offset] * (gain + step * Float(offset))
                held[offset] = samples[start + offset]
                // The line never leaves the ceiling; rounding may, by the last bit.
                samples[start + offset] = max(-Self.ceiling, min(Self.ceiling, limited))
            }
            gain = next
            heldGain = allowed
            start += Self.slice
        }
    }
}
