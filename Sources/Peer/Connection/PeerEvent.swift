import Basics

/// What a connection tells its owner.
public enum PeerEvent: Sendable {
    /// The peer's certificate is checked; media may flow.
    case connected
    /// Nothing was heard since then; it may come back.
    case interrupted(since: Instant)
    /// Something authentic came again after `interrupted`.
    case recovered
    /// Final, with a sentence for the log.
    case failed(String)
    /// The peer said goodbye. Final.
    case closed
    /// The peer lastingly asked for more than its ``PeerBudget``, with a sentence for the log. Final; our goodbye waits
    /// in `flush`.
    case overBudget(String)
    /// A whole frame of the peer's, in decoding order. The first one is a keyframe.
    case video(ReceivedVideoFrame)
    /// An Opus packet of the peer's, in the order of arrival.
    case audio(ReceivedAudioPacket)
    /// The peer, or our own gate, needs a keyframe of what we send; already thinned out.
    case keyframeRequested
    /// What the peer's line carries changed noticeably.
    case estimate(BitRate, lossFraction: Double, roundTrip: Duration)
    /// A data channel is open both ways; `byRemote` where the peer opened it.
    case channelOpened(ChannelID, label: String, byRemote: Bool)
    /// A data channel has closed; its id may come again.
    case channelClosed(ChannelID)
    /// A whole message came on a channel.
    case message(ChannelID, label: String, DataChannelMessage)
    /// The demultiplexer must know `localUfrags` anew.
    case ufragsChanged
}

/// Why a connection could not be made.
public struct PeerError: Error, Sendable, Hashable, CustomStringConvertible {
    public var description: String

    /// An error with a sentence that tells how to mend it.
    public init(_ description: String) {
        self.description = description
    }
}
