/// What to do next for the audio of one participant.
public enum AudioPlayout: Sendable {
    /// Decode the packet; play the result `tempo` times as fast (n samples become n ÷ tempo).
    case decode(ReceivedAudioPacket, tempo: Double)
    /// Decode the forward error correction inside this packet, which stays in the buffer: it stands for `samples` lost
    /// ones.
    case decodeFEC(ReceivedAudioPacket, samples: Int)
    /// Let the decoder conceal as many samples; it fades out by itself, and `concealedDuration` says for how long
    /// already.
    case conceal(samples: Int)
    /// Append as many zero samples: nobody speaks, or too much is missing.
    case silence(samples: Int)
    /// A new stream begins: reset the decoder and ask again.
    case reset
}
