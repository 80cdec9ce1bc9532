import Basics
import Peer
import RoomMedia

/// From a connection's own figures to those that rooms show.
enum PeerFigures {
    static func statistics(of seat: PeerSeat, at now: Instant) -> ParticipantStatistics {
        let all = seat.peer.statistics(at: now)
        var result = ParticipantStatistics()
        result.receivedAudio = stream(all.audioReceived)
        result.receivedVideo = stream(all.videoReceived)
        result.sentAudio = stream(all.audioSent)
        result.sentVideo = stream(all.videoSent)
        result.receivedVideo.framesPerSecond = seat.frameRates.received
        result.sentVideo.framesPerSecond = seat.frameRates.sent
        result.roundTrip = all.roundTrip ?? .zero
        result.estimate = all.estimate
        result.rendition = seat.rungHeight > 0 ? "\(seat.rungHeight)" : "audio"
        result.renditionReason = seat.reason
        if let flow = all.flow { result.transport = "\(flow.transport) \(flow.remote)" }
        result.isConnected = seat.isConnected
        result.faults = PeerFaults(all, overLoopBudget: seat.loopBudget.dropped)
        return result
    }

    private static func stream(_ received: ReceivedStatistics) -> ParticipantStatistics.Stream {
        var stream = ParticipantStatistics.Stream()
        stream.codec = received.codec ?? ""
        (stream.width, stream.height) = (received.width, received.height)
        stream.frames = received.frames
        stream.keyframes = received.keyframes
        stream.packets = received.packets
        stream.bytes = received.bytes
        stream.bitRate = received.bitRate
        stream.packetsLost = received.packetsLost
        stream.loss = received.lossFraction
        stream.jitter = received.jitter
        stream.nacks = received.nacks
        stream.keyframeRequests = received.pictureLossIndications
        stream.retransmitted = received.retransmittedPackets
        return stream
    }

    private static func stream(_ sent: SentStatistics) -> ParticipantStatistics.Stream {
        var stream = ParticipantStatistics.Stream()
        stream.codec = sent.codec ?? ""
        (stream.width, stream.height) = (sent.width, sent.height)
        stream.frames = sent.counters.frames
        stream.keyframes = sent.counters.keyframes
        stream.packets = sent.counters.packets
        stream.bytes = sent.counters.bytes
        stream.bitRate = sent.bitRate
        stream.packetsLost = sent.packetsLost
        stream.loss = sent.lossFraction
        stream.jitter = sent.jitter
        stream.nacks = sent.counters.nacks
        stream.keyframeRequests = sent.counters.pictureLossIndications
        stream.retransmitted = sent.counters.retransmittedPackets
        return stream
    }
}
