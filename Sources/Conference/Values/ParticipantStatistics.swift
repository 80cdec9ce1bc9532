package import Basics
package import RoomMedia

/// Statistics of the media from and to one participant.
package struct ParticipantStatistics: Hashable, Sendable {
    /// One stream of either direction.
    package struct Stream: Hashable, Sendable {
        /// "h264", "vp8", "av1", "opus"; empty before the first packet.
        package var codec = ""
        package var width = 0
        package var height = 0
        package var framesPerSecond = 0.0
        package var frames = 0
        package var keyframes = 0
        package var packets = 0
        package var bytes = 0
        package var bitRate = BitRate.zero
        package var packetsLost = 0
        /// The recent loss fraction, 0 … 1.
        package var loss = 0.0
        package var jitter = Duration.zero
        package var nacks = 0
        package var keyframeRequests = 0
        package var retransmitted = 0
        package init() {}
    }

    package var receivedAudio = Stream()
    package var receivedVideo = Stream()
    /// What is sent beside the camera; nil: nothing ever was.
    package var receivedScreen: Stream?
    package var sentAudio = Stream()
    package var sentVideo = Stream()
    package var roundTrip = Duration.zero
    package var estimate = BitRate.zero
    /// "720", "360", … or "audio".
    package var rendition = ""
    /// The reason of the last change of the rendition.
    package var renditionReason = LinkReason.none
    /// "udp" or "tcp", and the peer's address.
    package var transport = ""
    package var audioDelay = Duration.zero
    package var concealed = Duration.zero
    package var freezes = 0
    /// Positive: audio is ahead of video.
    package var audioVideoOffset = Duration.zero
    package var isConnected = false
    package var milestones = JoinMilestones()
    /// Counts of what was refused of the participant.
    package var faults = PeerFaults()

    package init() {}

    /// Leaves the way of the media without the peer's address.
    package mutating func hideAddress() { transport = String(transport.prefix { $0 != " " }) }
}
