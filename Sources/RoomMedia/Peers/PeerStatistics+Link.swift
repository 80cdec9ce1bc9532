import Peer

extension PeerStatistics {
    /// Bytes of RTP in both directions, repair included.
    var bytes: (sent: Int, received: Int) {
        let sent = audioSent.counters.bytes + videoSent.counters.bytes + videoSent.repair.bytes
        return (sent, audioReceived.bytes + videoReceived.bytes + screenReceived.bytes)
    }

    /// Packets of media, without repair, since the start.
    var link: MediaQuality.Link {
        let lost = max(0, audioReceived.packetsLost + videoReceived.packetsLost + screenReceived.packetsLost)
        return MediaQuality.Link(
            bytesIn: bytes.received, bytesOut: bytes.sent,
            packetsIn: audioReceived.packets + videoReceived.packets + screenReceived.packets + lost, lostIn: lost,
            packetsOut: audioSent.counters.packets + videoSent.counters.packets,
            lostOut: max(0, audioSent.packetsLost + videoSent.packetsLost))
    }

    /// The loss from the peer, 0 … 1, of the stream that loses more.
    var lossUp: Double { max(audioReceived.lossFraction, videoReceived.lossFraction) }
}
