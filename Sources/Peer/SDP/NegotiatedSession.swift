public import Basics

/// The header extensions that Tessera supports (RFC 8285).
enum HeaderExtension: String, Hashable, Sendable, CaseIterable {
    case mid = "urn:ietf:params:rtp-hdrext:sdes:mid"
    case rid = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
    case repairedRID = "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
    case audioLevel = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
    case absSendTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
    case transportCC = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
    case videoOrientation = "urn:3gpp:video-orientation"
    case playoutDelay = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"

    /// Whether it applies to a section of this kind.
    func applies(to kind: MediaKind) -> Bool {
        switch self {
        case .mid, .absSendTime, .transportCC: true
        case .audioLevel: kind == .audio
        case .rid, .repairedRID, .videoOrientation, .playoutDelay: kind == .video
        }
    }
}

/// The ids that were negotiated for one section.
struct HeaderExtensionMap: Hashable, Sendable {
    private var ids: [HeaderExtension: UInt8] = [:]

    init() {}

    subscript(_ kind: HeaderExtension) -> UInt8? {
        get { ids[kind] }
        set { ids[kind] = newValue }
    }

    var mid: UInt8? { self[.mid] }
    var rid: UInt8? { self[.rid] }
    var repairedRID: UInt8? { self[.repairedRID] }
    var audioLevel: UInt8? { self[.audioLevel] }
    var absSendTime: UInt8? { self[.absSendTime] }
    var transportCC: UInt8? { self[.transportCC] }
    var videoOrientation: UInt8? { self[.videoOrientation] }
    var playoutDelay: UInt8? { self[.playoutDelay] }
}

/// The RTCP feedback that was negotiated for a payload type (RFC 4585 §4.2).
public struct CodecFeedback: OptionSet, Hashable, Sendable {
    /// A bit for each kind.
    public let rawValue: UInt8
    /// The kinds of feedback with these bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Generic NACK (RFC 4585 §6.2.1).
    public static let nack = CodecFeedback(rawValue: 1)
    /// Picture loss indication (RFC 4585 §6.3.1).
    public static let pli = CodecFeedback(rawValue: 2)
    /// Full intra request (RFC 5104 §4.3.1).
    public static let fir = CodecFeedback(rawValue: 4)
    /// Receiver estimated maximum bitrate (draft-alvestrand-rmcat-remb-03).
    public static let remb = CodecFeedback(rawValue: 8)
    /// Transport-wide congestion control (draft-holmer-rmcat-transport-wide-cc-extensions-01).
    public static let transportCC = CodecFeedback(rawValue: 16)
    /// Temporary maximum media stream bit rate request (RFC 5104 §7.1).
    public static let tmmbr = CodecFeedback(rawValue: 32)
    /// Every kind.
    public static let all: CodecFeedback = [.nack, .pli, .fir, .remb, .transportCC, .tmmbr]

    static let names: [(feedback: CodecFeedback, text: String)] = [
        (.remb, "goog-remb"), (.transportCC, "transport-cc"), (.fir, "ccm fir"), (.tmmbr, "ccm tmmbr"),
        (.nack, "nack"), (.pli, "nack pli"),
    ]

    init(_ lines: [String]) {
        self = []
        for (feedback, text) in Self.names where lines.contains(text) { insert(feedback) }
        // An offer may add its greatest packet rate (RFC 5104 §7.1, "smaxpr"), which an answer need not repeat.
        if lines.contains(where: { $0.hasPrefix("ccm tmmbr ") }) { insert(.tmmbr) }
    }

    var lines: [String] { Self.names.filter { contains($0.feedback) }.map(\.text) }
}

/// One codec of a section, with the payload type that both ends use for it.
struct NegotiatedCodec: Hashable, Sendable {
    /// The codecs that can be negotiated.
    enum Name: String, Hashable, Sendable {
        case opus, h264, vp8, av1

        init(_ codec: VideoCodec) {
            switch codec {
            case .h264: self = .h264
            case .vp8: self = .vp8
            case .av1: self = .av1
            }
        }

        /// Nil for audio.
        var video: VideoCodec? {
            switch self {
            case .opus: nil
            case .h264: .h264
            case .vp8: .vp8
            case .av1: .av1
            }
        }
    }

    var name: Name
    var payloadType: UInt8
    /// The payload type of its retransmissions (RFC 4588), if the peer accepts them.
    var rtxPayloadType: UInt8?
    /// Only for Opus: the payload type of packets that repeat earlier ones (RFC 2198), if the peer accepts them.
    var redPayloadType: UInt8?
    /// Whether the peer named that before the codec, so that both send packets with copies (RFC 3264 §6.1).
    var prefersRed = false
    var clockRate: Int
    /// The peer's parameters, which it sets as a receiver.
    var parameters: FormatParameters
    /// Only for H.264.
    var h264: H264Format?
    var feedback: CodecFeedback
}

/// One media source that the peer announced.
struct RemoteSource: Hashable, Sendable {
    var ssrc: SSRC
    /// The SSRC of its retransmissions, from the FID group.
    var rtx: SSRC?
    var cname: String?
}

/// The peer's parameters for our Opus encoder (RFC 7587 §6.1).
public struct OpusParameters: Hashable, Sendable {
    /// The peer prefers stereo (`stereo=1`).
    public var stereo = false
    /// The peer uses in-band FEC.
    public var useInbandFEC = false
    /// The peer prefers discontinuous transmission.
    public var useDTX = false
    /// The highest average rate of the encoder; nil if the peer does not limit it.
    public var maxAverageBitRate: BitRate?
    /// The highest sampling rate that the peer plays, in Hz.
    public var maxPlaybackRate: Int?
    /// The packet duration that the peer prefers, in milliseconds.
    public var packetTime: Int?
    /// The longest packet duration, in milliseconds.
    public var maxPacketTime: Int?

    /// Reads `a=ptime`, `a=maxptime` (RFC 8866 §6.4) and `b=` from `section`.
    init(_ parameters: FormatParameters, in section: MediaDescription) {
        self.init(parameters)
        func milliseconds(_ name: String) -> Int? {
            section.attributes.first { $0.name == name }?.value.flatMap { Int($0) }.flatMap {
                (3...120).contains($0) ? $0 : nil
            }
        }
        packetTime = milliseconds("ptime") ?? packetTime
        maxPacketTime = milliseconds("maxptime") ?? maxPacketTime
        if let limit = section.bandwidth, limit >= .kilobits(6) {
            maxAverageBitRate = min(maxAverageBitRate ?? limit, limit)
        }
    }

    package init(_ parameters: FormatParameters = FormatParameters()) {
        stereo = parameters["stereo"] == "1"
        useInbandFEC = parameters["useinbandfec"] == "1"
        useDTX = parameters["usedtx"] == "1"
        // RFC 7587 §6.1: 6000 to 510000; values outside are ignored.
        maxAverageBitRate = parameters.integer("maxaveragebitrate").flatMap {
            (6000...510_000).contains($0) ? BitRate(bitsPerSecond: $0) : nil
        }
        maxPlaybackRate = parameters.integer("maxplaybackrate").flatMap { (8000...48_000).contains($0) ? $0 : nil }
        packetTime = parameters.integer("ptime").flatMap { (3...120).contains($0) ? $0 : nil }
        // Some peers write it here, as in RFC 3267.
        maxPacketTime = parameters.integer("maxptime").flatMap { (3...120).contains($0) ? $0 : nil }
    }
}

/// One negotiated section.
struct NegotiatedSection: Hashable, Sendable {
    var mid: String?
    var kind: MediaKind
    /// False for a rejected or stopped section, which keeps its place.
    var accepted = false
    /// Whether it is the peer's second video section.
    var isScreen = false
    /// Our direction: what we send and receive.
    var direction = Direction.inactive
    /// In the answer's order: the peer will send the first.
    var codecs: [NegotiatedCodec] = []
    var headerExtensions = HeaderExtensionMap()
    var remoteSources: [RemoteSource] = []
    /// The encodings that the peer may send, in its order (browsers: the best last).
    var remoteRIDs: [String] = []
    var remoteMsid: MediaStreamID?
    /// Only for audio.
    var opus: OpusParameters?
    /// The rate that the peer accepts (`b=`).
    var remoteBandwidth: BitRate?
    var remoteReducedSizeRTCP = false

    init(mid: String?, kind: MediaKind) {
        self.mid = mid
        self.kind = kind
    }

    /// Whether one of the codecs has this feedback: enough for feedback about a whole connection.
    func agreed(to feedback: CodecFeedback) -> Bool { codecs.contains { $0.feedback.contains(feedback) } }
}

/// The result of a negotiation: everything that a connection needs.
package struct NegotiatedSession: Hashable, Sendable {
    var localIce: ICECredentials
    var remoteIce: ICECredentials
    /// Whether the peer or we restarted ICE with this description.
    var iceRestarted: Bool
    package var remoteCandidates: [Candidate]
    var remoteIsLite: Bool
    var remoteFingerprints: [Fingerprint]
    /// Our role; it stays the same for the life of a connection.
    var dtlsRole: DTLSRole
    /// In m-line order, rejected ones included.
    var sections: [NegotiatedSection]
    /// The peer's SCTP port, if a data channel section was negotiated.
    var sctpPort: UInt16?
    /// Bytes; 0 means without limit (RFC 8841 §6.1).
    var remoteMaxMessageSize: Int
    var extmapAllowMixed: Bool

    /// The accepted section of a kind; the screen's is none of these.
    func section(_ kind: MediaKind) -> NegotiatedSection? {
        sections.first { $0.accepted && $0.kind == kind && !$0.isScreen }
    }

    /// The accepted section of the peer's screen.
    var screen: NegotiatedSection? { sections.first { $0.accepted && $0.isScreen } }
}
