import Peer

extension PeerStatistics {
    /// Bytes of RTP in both directions, repair included.
    var bytes: (sent: Int, received: Int) {
        let sent = audioSent.counters.bytes + videoSent.counters.bytes + videoSent.repair.bytes
        return (sent, audioReceived.bytes + videoReceived.bytes)
    }

    /// The loss from the peer, 0 … 1, of the stream that loses more.
    var lossUp: Double { max(audioReceived.lossFraction, videoReceived.lossFraction) }
}
