import Basics
import Peer
import RoomMedia

extension ParticipantStatistics {
    /// A participant's statistics from its peer's counts.
    init(of seat: PeerSession, at now: Instant) {
        let all = seat.peer.statistics(at: now)
        self.init()
        receivedAudio = Stream(all.audioReceived)
        receivedVideo = Stream(all.videoReceived)
        if all.screenReceived.packets > 0 { receivedScreen = Stream(all.screenReceived) }
        sentAudio = Stream(all.audioSent)
        sentVideo = Stream(all.videoSent)
        receivedVideo.framesPerSecond = seat.frameRates.received
        sentVideo.framesPerSecond = seat.frameRates.sent
        roundTrip = all.roundTrip ?? .zero
        estimate = all.estimate
        rendition = seat.rungHeight > 0 ? "\(seat.rungHeight)" : "audio"
        renditionReason = seat.reason
        if let flow = all.flow { transport = "\(flow.transport) \(flow.remote)" }
        isConnected = seat.isConnected
        (milestones.described, milestones.path) = (all.milestones.described, all.milestones.path)
        (milestones.connected, milestones.firstFrameSent) = (all.milestones.connected, all.milestones.firstFrameSent)
        faults = PeerFaults(all, overLoopBudget: seat.loopBudget.dropped)
    }
}

extension ParticipantStatistics.Stream {
    fileprivate init(_ received: ReceivedStatistics) {
        self.init()
        codec = received.codec ?? ""
        (width, height) = (received.width, received.height)
        frames = received.frames
        keyframes = received.keyframes
        packets = received.packets
        bytes = received.bytes
        bitRate = received.bitRate
        packetsLost = received.packetsLost
        loss = received.lossFraction
        jitter = received.jitter
        nacks = received.nacks
        keyframeRequests = received.pictureLossIndications
        retransmitted = received.retransmittedPackets
    }

    fileprivate init(_ sent: SentStatistics) {
        self.init()
        codec = sent.codec ?? ""
        (width, height) = (sent.width, sent.height)
        frames = sent.counters.frames
        keyframes = sent.counters.keyframes
        packets = sent.counters.packets
        bytes = sent.counters.bytes
        bitRate = sent.bitRate
        packetsLost = sent.packetsLost
        loss = sent.lossFraction
        jitter = sent.jitter
        nacks = sent.counters.nacks
        keyframeRequests = sent.counters.pictureLossIndications
        retransmitted = sent.counters.retransmittedPackets
    }
}
