import Basics

/// Our side of a negotiation.
struct NegotiationConfiguration: Sendable {
    /// The fingerprint of our certificate, SHA-256.
    var fingerprint: Fingerprint
    var isIceLite: Bool
    /// Our candidates, best first; every description contains them.
    var candidates: [Candidate]
    /// The credentials of an offer before any answer.
    var credentials = ICECredentials.random()

    /// The audio direction that we offer and accept; nil rejects audio.
    var audio: Direction? = .sendReceive
    /// The video direction that we offer and accept; nil rejects video.
    var video: Direction? = .sendReceive
    /// Accepts a second video section, on which the peer only sends: its screen.
    var acceptsScreen = false
    var acceptsDataChannels = true

    /// Our video codecs in order of preference. Nil follows the offer's order, and offers VP8 and H.264.
    var videoCodecs: [VideoCodec]?
    /// The parameters of Opus in our descriptions, which we set as a receiver (RFC 7587 §6.1).
    var opusParameters = FormatParameters(parsing: "minptime=10;useinbandfec=1;stereo=0;maxaveragebitrate=40000")
    var feedback = CodecFeedback.all
    /// Without video-orientation, so that senders rotate their pictures themselves.
    var headerExtensions: Set<HeaderExtension> = [
        .mid, .rid, .repairedRID, .audioLevel, .absSendTime, .transportCC, .playoutDelay,
    ]
    var acceptsSimulcast = true
    /// Accepts `red` for Opus (RFC 2198), and offers it.
    var takesRedundantAudio = true

    var audioSSRC: SSRC
    var videoSSRC: SSRC
    var videoRTXSSRC: SSRC
    /// One CNAME for audio and video, so that the receiver synchronises them (RFC 3550 §6.5.1).
    var cname: String
    var streamID: String
    var audioTrackID: String
    var videoTrackID: String

    /// The highest audio rate to receive.
    var audioBandwidth: BitRate?
    /// The highest video rate to receive.
    var videoBandwidth: BitRate?
    /// The same for answers to peers without REMB, which would otherwise carry the changing limit.
    var videoBandwidthWithoutREMB: BitRate?

    var sctpPort: UInt16 = 5000
    /// The most bytes that we accept in one data channel message.
    var maxMessageSize = 262_144
    /// Our role if the offer leaves the choice. A server role needs no address of the peer to start.
    var preferredRole = DTLSRole.server
    /// Makes short offers, for endpoints whose clients need small messages.
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

    func direction(for kind: MediaKind) -> Direction? {
        switch kind {
        case .audio: audio
        case .video: video
        default: nil
        }
    }
}
