/// The next step in the playout of one participant's audio.
public enum AudioPlayout: Sendable {
    /// Decode the packet; play the result `tempo` times as fast (n samples become n ÷ tempo).
    case decode(ReceivedAudioPacket, tempo: Double)
    /// Decode the forward error correction inside this packet, which stays in the buffer: it replaces `samples` lost
    /// samples.
    case decodeFEC(ReceivedAudioPacket, samples: Int)
    /// Let the decoder conceal this many samples; it fades out by itself, and `concealedDuration` is the time concealed
    /// so far.
    case conceal(samples: Int)
    /// Append this many zero samples: nobody speaks, or too much is missing.
    case silence(samples: Int)
    /// A new stream begins: reset the decoder and call `next` again.
    case reset
}
