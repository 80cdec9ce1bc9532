public import Basics

/// What a connection reports to its owner.
public enum PeerEvent: Sendable {
    /// The peer's certificate was verified; media may flow.
    case connected
    /// Nothing authentic came since then; the peer may return.
    case interrupted(since: Instant)
    /// Something authentic came again after `interrupted`.
    case recovered
    /// The connection failed, with a sentence for the log. Final.
    case failed(String)
    /// The peer closed the connection. Final.
    case closed
    /// The peer exceeded its ``PeerBudget`` over a longer time, with a sentence for the log. Final; our BYE waits in
    /// `flush`.
    case overBudget(String)
    /// A whole frame of the peer, in decoding order. The first one is a keyframe.
    case video(ReceivedVideoFrame)
    /// The same of its screen, which is the second video section.
    case screen(ReceivedVideoFrame)
    /// An Opus packet of the peer, in the order of arrival.
    case audio(ReceivedAudioPacket)
    /// Somebody needs a keyframe of what we send; the rate of these requests is already limited.
    case keyframeRequested(by: KeyframeRequester)
    /// The estimate of what the peer's link carries changed noticeably.
    case estimate(BitRate, lossFraction: Double, roundTrip: Duration)
    /// A data channel is open both ways; `byRemote` where the peer opened it.
    case channelOpened(ChannelID, label: String, byRemote: Bool)
    /// A data channel has closed; its id may be used again.
    case channelClosed(ChannelID)
    /// A whole message was received on a channel.
    case message(ChannelID, label: String, DataChannelMessage)
    /// `localUfrags` changed: the demultiplexer must be updated.
    case ufragsChanged
}

/// The reason why a connection could not be made.
public struct PeerError: Error, Sendable, Hashable, CustomStringConvertible {
    public var description: String

    /// Makes an error with a sentence that explains how to correct it.
    public init(_ description: String) {
        self.description = description
    }
}
