import Basics
import Codecs

/// Encodes a room's mix to AAC with its room time. Not Sendable: confined to the stream's queue.
final class HLSAudio {
    static let bitRate = BitRate.kilobits(96)
    /// Jitter of up to this many samples (1 ms) between ticks is rounding, not a gap.
    private static let tolerance: Int64 = 48
    /// A longer gap begins anew instead of being filled with silence.
    private static let longestGap: Int64 = 96_000

    private var encoder: AACEncoder
    let description: [UInt8]
    /// The room time of the encoder's first sample; nil before that.
    private var base: Int64?
    private var count: Int64 = 0

    init() throws(CodecError) {
        encoder = try AACEncoder(bitRate: Self.bitRate)
        description = encoder.audioSpecificConfig
    }

    /// Encodes samples whose first one has the room time `time`, and delivers the packets that they complete.
    func encode(_ samples: [Float], time: Int64, _ deliver: (AACPacket) -> Void) throws(CodecError) {
        var samples = samples
        let start = base ?? time
        base = start
        let gap = time - (start + count)
        if gap > Self.longestGap || gap < -Self.longestGap {
            encoder = try AACEncoder(bitRate: Self.bitRate)
            (base, count) = (time, 0)
        } else if gap > Self.tolerance {
            samples.insert(contentsOf: [Float](repeating: 0, count: Int(gap)), at: 0)
        } else if gap < -Self.tolerance {
            samples.removeFirst(min(samples.count, Int(-gap)))
        }
        count += Int64(samples.count)
        let base = base ?? time
        try encoder.encode(samples) { packet in
            // The first packet only primes the decoder, and lies before the first sample.
            guard packet.position >= 0 else { return }
            var packet = packet
            packet.position += base
            deliver(packet)
        }
    }
}
