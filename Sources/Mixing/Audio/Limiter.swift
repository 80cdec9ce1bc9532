/// Keeps a sum of voices below full scale without clipping and without clicks.
///
/// The limiter looks ahead by one slice of 2.5 ms, by which it delays the audio. The gain at each border between two
/// slices is at most what the louder of both allows, and is linear between the borders, so no sample exceeds the
/// ceiling for any input.
struct Limiter {
    /// The look-ahead and the attack in samples: 2.5 ms at 48 kHz.
    static let slice = 120
    /// −1 dBFS, because decoded Opus may overshoot a little.
    static let ceiling: Float = 0.891
    /// The rise of the gain per slice: full gain is reached within 250 ms, slowly enough to avoid pumping.
    static let releasePerSlice: Float = 0.01

    /// The slice that was analysed but not returned yet.
    private var held = [Float](repeating: 0, count: slice)
    private var heldGain: Float = 1
    /// The gain at the border where the held slice begins.
    private(set) var gain: Float = 1

    /// Replaces `samples` (a multiple of a slice) by the limited samples, delayed by one slice.
    mutating func process(_ samples: inout [Float]) {
        var start = 0
        while start + Self.slice <= samples.count {
            var peak: Float = 0
            for index in start..<start + Self.slice {
                // NaN and absurdly large samples would spoil the gain for good.
                if !(abs(samples[index]) <= 1e6) { samples[index] = 0 }
                peak = max(peak, abs(samples[index]))
            }
            let allowed = peak > Self.ceiling ? Self.ceiling / peak : 1
            let next = min(heldGain, allowed, gain + Self.releasePerSlice)
            let step = (next - gain) / Float(Self.slice)
            for offset in 0..<Self.slice {
                let limited = held[offset] * (gain + step * Float(offset))
                held[offset] = samples[start + offset]
                // The linear gain never exceeds the ceiling; rounding may, by the last bit.
                samples[start + offset] = max(-Self.ceiling, min(Self.ceiling, limited))
            }
            gain = next
            heldGain = allowed
            start += Self.slice
        }
    }
}
