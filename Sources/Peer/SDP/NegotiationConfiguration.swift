import Basics

/// What our end brings to a negotiation.
struct NegotiationConfiguration: Sendable {
    /// Of our certificate, SHA-256.
    var fingerprint: Fingerprint
    var isIceLite: Bool
    /// Ours, best first; they stand in every description.
    var candidates: [Candidate]
    /// For an offer that comes before any answer.
    var credentials = ICECredentials.random()

    /// What we are ready to do with audio; nil rejects it.
    var audio: Direction? = .sendReceive
    /// What we are ready to do with video; nil rejects it.
    var video: Direction? = .sendReceive
    var acceptsDataChannels = true

    /// Nil follows the offer's order. Otherwise only these, in this order. In an offer of ours: VP8, H.264.
    var videoCodecs: [VideoCodec]?
    /// The parameters of Opus in our descriptions: our wishes as a receiver (RFC 7587 §6.1).
    var opusParameters = FormatParameters(parsing: "minptime=10;useinbandfec=1;stereo=0;maxaveragebitrate=40000")
    var feedback = CodecFeedback.all
    /// Without video-orientation, so that senders turn their pictures themselves.
    var headerExtensions: Set<HeaderExtension> = [
        .mid, .rid, .repairedRID, .audioLevel, .absSendTime, .transportCC, .playoutDelay,
    ]
    var acceptsSimulcast = true
    /// Takes `red` for Opus (RFC 2198) where it is offered, and offers it.
    var takesRedundantAudio = true

    var audioSSRC: SSRC
    var videoSSRC: SSRC
    var videoRTXSSRC: SSRC
    /// One for audio and video, so that the receiver keeps lips and voice together (RFC 3550 §6.5.1).
    var cname: String
    var streamID: String
    var audioTrackID: String
    var videoTrackID: String

    /// What we want to receive at most.
    var audioBandwidth: BitRate?
    /// What we want to receive at most.
    var videoBandwidth: BitRate?
    /// The same for answers to peers that take no REMB, by which it would be told as it changes.
    var videoBandwidthWithoutREMB: BitRate?

    var sctpPort: UInt16 = 5000
    /// Bytes that we take in one data channel message.
    var maxMessageSize = 262_144
    /// Our role where the offer leaves the choice. A server that waits needs no address of the peer.
    var preferredRole = DTLSRole.server
    /// Short offers: for doors whose clients want one small frame.
    var isCompact = false

    init(
        fingerprint: Fingerprint, isIceLite: Bool, candidates: [Candidate], audioSSRC: SSRC, videoSSRC: SSRC,
        videoRTXSSRC: SSRC, cname: String, streamID: String = "tessera", audioTrackID: String = "audio",
        videoTrackID: String = "video"
    ) {
        self.fingerprint = fingerprint
        self.isIceLite = isIceLite
        self.candidates = candidates
        self.audioSSRC = audioSSRC
        self.videoSSRC = videoSSRC
        self.videoRTXSSRC = videoRTXSSRC
        self.cname = cname
        self.streamID = streamID
        self.audioTrackID = audioTrackID
        self.videoTrackID = videoTrackID
    }

    func wish(for kind: MediaKind) -> Direction? {
        switch kind {
        case .audio: audio
        case .video: video
        default: nil
        }
    }
}
