import Basics

/// The kind of a section.
enum MediaKind: Hashable, Sendable, CustomStringConvertible {
    case audio, video, application
    case other(String)

    init(_ name: some StringProtocol) {
        switch name {
        case "audio": self = .audio
        case "video": self = .video
        case "application": self = .application
        default: self = .other(String(name))
        }
    }

    var description: String {
        switch self {
        case .audio: "audio"
        case .video: "video"
        case .application: "application"
        case .other(let name): name
        }
    }
}

/// One `m=` section. Session-level attributes that apply to every section are already copied in.
struct MediaDescription: Hashable, Sendable {
    var kind: MediaKind
    /// 0 rejects the section, unless it is `bundleOnly` (RFC 9143 §6).
    var port: UInt16
    var proto: String
    var formats: [String]
    /// The value of `c=`.
    var connection: String?
    var bandwidths: [BandwidthLine] = []
    var mid: String?
    var direction = Direction.sendReceive
    var iceUfrag: String?
    var icePassword: String?
    var iceOptions: [String] = []
    var fingerprints: [Fingerprint] = []
    var setup: SetupRole?
    var candidates: [Candidate] = []
    var endOfCandidates = false
    var rtcpMux = false
    var rtcpReducedSize = false
    var bundleOnly = false
    var extmapAllowMixed = false
    var codecs: [CodecDescription] = []
    var extensions: [ExtensionMapping] = []
    var ssrcs: [SSRCDescription] = []
    var ssrcGroups: [SSRCGroup] = []
    var msids: [MediaStreamID] = []
    var rids: [RestrictionID] = []
    var simulcast: SimulcastDescription?
    var sctpPort: UInt16?
    var maxMessageSize: Int?
    /// All other attributes, in their order.
    var attributes: [SDPAttribute] = []

    init(kind: MediaKind, port: UInt16, proto: String, formats: [String]) {
        self.kind = kind
        self.port = port
        self.proto = proto
        self.formats = formats
    }

    /// Whether it is rejected or stopped: port 0 without `a=bundle-only`.
    var isRejected: Bool { port == 0 && !bundleOnly }
    var isRTP: Bool { proto.contains("RTP/") }

    /// The codec of a payload type.
    func codec(_ payloadType: UInt8) -> CodecDescription? { codecs.first { $0.payloadType == payloadType } }

    /// The ceiling that this end requests: TIAS (RFC 3890) before AS.
    var bandwidth: BitRate? {
        // Ten times what any link of today carries: above it a sum or a product might overflow.
        let most = 100_000_000_000
        if let tias = bandwidths.first(where: { $0.type == "TIAS" }) {
            return BitRate(bitsPerSecond: min(max(tias.value, 0), most))
        }
        return bandwidths.first { $0.type == "AS" }.map {
            BitRate(bitsPerSecond: min(max($0.value, 0), most / 1000) * 1000)
        }
    }
}

extension MediaDescription: CustomStringConvertible {
    /// The section as text, lines ending in CRLF.
    var description: String {
        var lines = ["m=\(kind) \(port) \(proto) \(formats.joined(separator: " "))"]
        if let connection { lines.append("c=\(connection)") }
        lines += bandwidths.map { "b=\($0.type):\($0.value)" }
        if let mid { lines.append("a=mid:\(mid)") }
        if bundleOnly { lines.append("a=bundle-only") }
        if let iceUfrag { lines.append("a=ice-ufrag:\(iceUfrag)") }
        if let icePassword { lines.append("a=ice-pwd:\(icePassword)") }
        if !iceOptions.isEmpty { lines.append("a=ice-options:\(iceOptions.joined(separator: " "))") }
        lines += fingerprints.map { "a=fingerprint:\($0)" }
        if let setup { lines.append("a=setup:\(setup.rawValue)") }
        if isRTP || direction != .sendReceive { lines.append("a=\(direction.rawValue)") }
        if rtcpMux { lines.append("a=rtcp-mux") }
        if rtcpReducedSize { lines.append("a=rtcp-rsize") }
        if extmapAllowMixed { lines.append("a=extmap-allow-mixed") }
        for mapping in extensions {
            let way = mapping.direction.map { "/\($0.rawValue)" } ?? ""
            let rest = mapping.attributes.map { " \($0)" } ?? ""
            lines.append("a=extmap:\(mapping.id)\(way) \(mapping.uri)\(rest)")
        }
        lines += msids.map { "a=msid:\($0)" }
        for codec in codecs {
            let channels = codec.channels.map { "/\($0)" } ?? ""
            lines.append("a=rtpmap:\(codec.payloadType) \(codec.name)/\(codec.clockRate)\(channels)")
            lines += codec.feedback.map { "a=rtcp-fb:\(codec.payloadType) \($0)" }
            if !codec.parameters.entries.isEmpty { lines.append("a=fmtp:\(codec.payloadType) \(codec.parameters)") }
        }
        for rid in rids {
            lines.append("a=rid:\(rid.id) \(rid.sends ? "send" : "recv")\(rid.restrictions.map { " \($0)" } ?? "")")
        }
        if let simulcast {
            let list = { (streams: [[String]]) in streams.map { $0.joined(separator: ",") }.joined(separator: ";") }
            let send = simulcast.send.isEmpty ? [] : ["send \(list(simulcast.send))"]
            let receive = simulcast.receive.isEmpty ? [] : ["recv \(list(simulcast.receive))"]
            lines.append("a=simulcast:\((send + receive).joined(separator: " "))")
        }
        lines += ssrcGroups.map { "a=ssrc-group:\($0.semantics) \($0.ssrcs.map(\.description).joined(separator: " "))" }
        for source in ssrcs { lines += source.attributes.map { "a=ssrc:\(source.ssrc) \($0)" } }
        if let sctpPort { lines.append("a=sctp-port:\(sctpPort)") }
        if let maxMessageSize { lines.append("a=max-message-size:\(maxMessageSize)") }
        lines += attributes.map { "a=\($0)" }
        lines += candidates.map { "a=\($0)" }
        if endOfCandidates { lines.append("a=end-of-candidates") }
        return lines.map { $0 + "\r\n" }.joined()
    }
}
