/// Reads session descriptions from outside: total, bounded, and lenient where a line does not matter to us.
struct SDPParser {
    /// Limits of our own; a browser with a dozen interfaces stays far below. Doors may allow less (`limits.sdpBytes`).
    static let maximumBytes = 1_048_576
    static let maximumSections = 64
    static let maximumCandidates = 256

    private var session = SessionDescription(origin: .init(sessionID: "0", version: 0))
    /// What stands at session level for every section that does not say otherwise (RFC 8839 §5.4, RFC 8122 §5).
    private var defaults = MediaDescription(kind: .other(""), port: 0, proto: "", formats: [])
    private var defaultDirection: Direction?
    private var explicitDirection: [Bool] = []
    private var wildcardFeedback: [[String]] = []
    private var candidateCount = 0
    private var line = 0

    static func parse(_ text: String) throws(SDPError) -> SessionDescription {
        guard text.utf8.count <= maximumBytes else {
            throw SDPError("The session description is longer than 1 MiB. Offer fewer sections or codecs.")
        }
        var parser = SDPParser()
        try parser.read(text)
        return parser.finished()
    }

    private mutating func read(_ text: String) throws(SDPError) {
        var sawOrigin = false
        // Bytes, because CRLF is one Character to Swift.
        for bytes in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            line += 1
            let raw = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
            if raw.isEmpty { continue }
            guard raw.count >= 2, raw[raw.index(after: raw.startIndex)] == UInt8(ascii: "=") else {
                throw error("not an SDP line; each line is a letter, \"=\" and a value")
            }
            let value = String(decoding: raw.dropFirst(2), as: UTF8.self)
            let type = raw[raw.startIndex]
            if line == 1 || (!sawOrigin && type == UInt8(ascii: "v")) {
                guard type == UInt8(ascii: "v"), value == "0" else {
                    throw error("a session description begins with \"v=0\"; send the sdp of an RTCSessionDescription")
                }
                continue
            }
            switch type {
            case UInt8(ascii: "o"):
                try readOrigin(value)
                sawOrigin = true
            case UInt8(ascii: "s"): session.name = value
            case UInt8(ascii: "m"): try readMedia(value)
            case UInt8(ascii: "c"): if !session.media.isEmpty { current { $0.connection = value } }
            case UInt8(ascii: "b"): readBandwidth(value)
            case UInt8(ascii: "a"): try readAttribute(value)
            default: break
            }
        }
        guard sawOrigin else { throw SDPError("The session description has no \"o=\" line. Send it complete.") }
    }

    private func error(_ message: String) -> SDPError { SDPError(message, line: line) }

    private mutating func current(_ change: (inout MediaDescription) -> Void) {
        if let last = session.media.indices.last { change(&session.media[last]) } else { change(&defaults) }
    }

    private mutating func readOrigin(_ value: String) throws(SDPError) {
        let parts = value.split(separator: " ")
        guard parts.count == 6 else { throw error("\"o=\" needs six values: name, id, version, IN, IP4, address") }
        session.origin = .init(
            username: String(parts[0]), sessionID: String(parts[1]), version: UInt64(parts[2]) ?? 0,
            address: parts[3...].joined(separator: " "))
    }

    private mutating func readMedia(_ value: String) throws(SDPError) {
        guard session.media.count < Self.maximumSections else {
            throw error("more than 64 \"m=\" sections; remove stopped ones by starting a new connection")
        }
        let parts = value.split(separator: " ")
        // A port may carry a count: "49170/2".
        guard parts.count >= 4, let port = UInt16(parts[1].prefix { $0 != "/" }) else {
            throw error("\"m=\" needs a kind, a port up to 65535, a protocol and at least one format")
        }
        session.media.append(
            MediaDescription(
                kind: MediaKind(parts[0]), port: port, proto: String(parts[2]), formats: parts[3...].map(String.init)))
        explicitDirection.append(false)
        wildcardFeedback.append([])
    }

    private mutating func readBandwidth(_ value: String) {
        let parts = value.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let amount = Int(parts[1]), amount >= 0, !session.media.isEmpty else { return }
        current { $0.bandwidths.append(BandwidthLine(type: String(parts[0]), value: amount)) }
    }

    private mutating func readAttribute(_ text: String) throws(SDPError) {
        let name: String
        let value: String
        if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) {
            name = String(text[..<colon])
            value = String(String(text[text.index(after: colon)...]).trimmingSpaces())
        } else {
            name = text
            value = ""
        }
        if try readTransport(name, value) { return }
        let known = session.media.isEmpty ? readSessionAttribute(name, value) : try readMediaAttribute(name, value)
        guard !known else { return }
        let attribute = SDPAttribute(name, text.utf8.count > name.utf8.count ? value : nil)
        if session.media.isEmpty { session.attributes.append(attribute) } else { current { $0.attributes.append(attribute) } }
    }

    /// Attributes that may stand at either level.
    private mutating func readTransport(_ name: String, _ value: String) throws(SDPError) -> Bool {
        if let direction = Direction(rawValue: name), value.isEmpty {
            if let last = session.media.indices.last {
                session.media[last].direction = direction
                explicitDirection[last] = true
            } else {
                defaultDirection = direction
            }
            return true
        }
        switch name {
        case "ice-ufrag", "ice-pwd":
            // RFC 8839 §5.4: up to 256 characters; nothing shorter than these is random enough to be a credential.
            guard (name == "ice-ufrag" ? 4...256 : 22...256).contains(value.utf8.count), IceCredentials.isToken(value) else {
                throw error("\(name) must be 4 (pwd: 22) to 256 letters, digits, \"+\" or \"/\"; copy it unchanged")
            }
            current { if name == "ice-ufrag" { $0.iceUfrag = value } else { $0.icePassword = value } }
        case "ice-options": current { $0.iceOptions = value.split(separator: " ").map(String.init) }
        case "fingerprint":
            guard let fingerprint = Fingerprint(parsing: value) else {
                throw error("fingerprint must be a hash name and hexadecimal bytes with colons; copy it unchanged")
            }
            current { if $0.fingerprints.count < 16 { $0.fingerprints.append(fingerprint) } }
        case "setup":
            guard let setup = SetupRole(rawValue: value) else {
                throw error("setup must be actpass, active or passive")
            }
            current { $0.setup = setup }
        default: return false
        }
        return true
    }

    private mutating func readSessionAttribute(_ name: String, _ value: String) -> Bool {
        switch name {
        case "group":
            let parts = value.split(separator: " ").map(String.init)
            guard parts.first == "BUNDLE" else { return false }
            session.bundles.append(Array(parts.dropFirst()))
        case "ice-lite": session.isIceLite = true
        case "extmap-allow-mixed": session.extmapAllowMixed = true
        case "msid-semantic": session.msidSemantic = value
        default: return false
        }
        return true
    }

    /// False for an attribute that has no field, or that does not matter and could not be read.
    private mutating func readMediaAttribute(_ name: String, _ value: String) throws(SDPError) -> Bool {
        switch name {
        case "mid":
            guard !value.isEmpty, !value.contains(" ") else { throw error("mid must be one word") }
            if session.media.dropLast().contains(where: { $0.mid == value && !$0.isRejected }) {
                throw error("the mid \"\(value)\" is used by two sections; each needs its own")
            }
            current { $0.mid = value }
        case "rtcp-mux": current { $0.rtcpMux = true }
        case "rtcp-rsize": current { $0.rtcpReducedSize = true }
        case "bundle-only": current { $0.bundleOnly = true }
        case "extmap-allow-mixed": current { $0.extmapAllowMixed = true }
        case "end-of-candidates": current { $0.endOfCandidates = true }
        case "candidate":
            guard candidateCount < Self.maximumCandidates else { return true }
            guard let candidate = Candidate(parsing: value) else { return false }
            candidateCount += 1
            current { $0.candidates.append(candidate) }
        case "rtpmap": try readRTPMap(value)
        case "fmtp":
            guard let (codec, rest) = payloadTypeAndRest(value) else { return false }
            withCodec(codec) { $0.parameters = FormatParameters(parsing: rest) }
        case "rtcp-fb": return readFeedback(value)
        case "extmap": return readExtension(value)
        case "msid":
            guard let msid = MediaStreamID(parsing: value) else { return false }
            current { $0.msids.append(msid) }
        case "ssrc": return readSSRC(value)
        case "ssrc-group":
            let parts = value.split(separator: " ")
            let ssrcs = parts.dropFirst().compactMap { UInt32($0) }
            guard parts.count >= 2, ssrcs.count == parts.count - 1 else { return false }
            current { $0.ssrcGroups.append(SSRCGroup(semantics: String(parts[0]), ssrcs: ssrcs)) }
        case "rid":
            let parts = value.split(separator: " ", maxSplits: 2)
            guard parts.count >= 2, parts[1] == "send" || parts[1] == "recv" else { return false }
            let rid = RestrictionID(
                id: String(parts[0]), sends: parts[1] == "send", restrictions: parts.count > 2 ? String(parts[2]) : nil)
            current { $0.rids.append(rid) }
        case "simulcast": return readSimulcast(value)
        case "sctp-port":
            guard let port = UInt16(value) else { throw error("sctp-port must be a number up to 65535") }
            current { $0.sctpPort = port }
        case "sctpmap":
            // Before RFC 8841: "a=sctpmap:5000 webrtc-datachannel 1024".
            guard let port = value.split(separator: " ").first.flatMap({ UInt16($0) }) else { return false }
            current { $0.sctpPort = $0.sctpPort ?? port }
            return false
        case "max-message-size":
            guard let size = Int(value), size >= 0 else { return false }
            current { $0.maxMessageSize = size }
        default: return false
        }
        return true
    }

    private func payloadTypeAndRest(_ value: String) -> (UInt8, Substring)? {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard let first = parts.first, let payloadType = UInt8(first), payloadType < 128 else { return nil }
        return (payloadType, parts.count > 1 ? parts[1] : "")
    }

    /// fmtp and rtcp-fb may come before the rtpmap line of their payload type (Firefox): the codec is made here and named later.
    private mutating func withCodec(_ payloadType: UInt8, _ change: (inout CodecDescription) -> Void) {
        current { section in
            if let index = section.codecs.firstIndex(where: { $0.payloadType == payloadType }) {
                change(&section.codecs[index])
            } else {
                var codec = CodecDescription(payloadType: payloadType, name: "", clockRate: 0)
                change(&codec)
                section.codecs.append(codec)
            }
        }
    }

    private mutating func readRTPMap(_ value: String) throws(SDPError) {
        guard let (payloadType, rest) = payloadTypeAndRest(value) else {
            throw error("rtpmap needs a payload type up to 127")
        }
        let parts = rest.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 2, !parts[0].isEmpty, let rate = Int(parts[1].trimmingSpaces()), rate > 0 else {
            throw error("rtpmap needs a codec name and a clock rate, as in \"96 VP8/90000\"")
        }
        withCodec(payloadType) {
            $0.name = String(parts[0])
            $0.clockRate = rate
            $0.channels = parts.count > 2 ? Int(parts[2].trimmingSpaces()) : nil
        }
    }

    private mutating func readFeedback(_ value: String) -> Bool {
        if value.hasPrefix("* ") {
            guard let last = wildcardFeedback.indices.last else { return false }
            wildcardFeedback[last].append(String(value.dropFirst(2)))
            return true
        }
        guard let (payloadType, rest) = payloadTypeAndRest(value), !rest.isEmpty else { return false }
        withCodec(payloadType) { $0.feedback.append(String(rest)) }
        return true
    }

    private mutating func readExtension(_ value: String) -> Bool {
        let parts = value.split(separator: " ", maxSplits: 2)
        guard parts.count >= 2 else { return false }
        let key = parts[0].split(separator: "/", maxSplits: 1)
        guard let id = key.first.flatMap({ UInt8($0) }), id > 0 else { return false }
        let direction = key.count > 1 ? Direction(rawValue: String(key[1])) : nil
        let mapping = ExtensionMapping(
            id: id, direction: direction, uri: String(parts[1]), attributes: parts.count > 2 ? String(parts[2]) : nil)
        current { $0.extensions.append(mapping) }
        return true
    }

    private mutating func readSSRC(_ value: String) -> Bool {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let ssrc = UInt32(parts[0]) else { return false }
        let pair = parts[1].split(separator: ":", maxSplits: 1)
        guard let name = pair.first else { return false }
        let attribute = SDPAttribute(String(name), pair.count > 1 ? String(pair[1]) : nil)
        current { section in
            if let index = section.ssrcs.firstIndex(where: { $0.ssrc == ssrc }) {
                section.ssrcs[index].attributes.append(attribute)
            } else {
                section.ssrcs.append(SSRCDescription(ssrc: ssrc, attributes: [attribute]))
            }
        }
        return true
    }

    private mutating func readSimulcast(_ value: String) -> Bool {
        let parts = value.split(separator: " ")
        guard parts.count == 2 || parts.count == 4 else { return false }
        var simulcast = SimulcastDescription()
        for index in stride(from: 0, to: parts.count, by: 2) {
            let streams = parts[index + 1].split(separator: ";").map { $0.split(separator: ",").map(String.init) }
            switch parts[index] {
            case "send": simulcast.send = streams
            case "recv": simulcast.receive = streams
            default: return false
            }
        }
        current { $0.simulcast = simulcast }
        return true
    }

    private func finished() -> SessionDescription {
        var result = session
        for index in result.media.indices {
            if !explicitDirection[index], let defaultDirection { result.media[index].direction = defaultDirection }
            // Payload types that were named by no rtpmap line (static ones, or mere noise) are no codecs to us.
            result.media[index].codecs.removeAll { $0.name.isEmpty }
            let order = Dictionary(
                result.media[index].formats.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
            // The m= line gives the order of preference (RFC 8829 §5.3.1), not the order of the rtpmap lines.
            result.media[index].codecs = result.media[index].codecs.enumerated().compactMap { offset, codec in
                order[String(codec.payloadType)].map { ($0, offset, codec) }
            }.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
            for feedback in wildcardFeedback[index] {
                for codec in result.media[index].codecs.indices
                where !result.media[index].codecs[codec].feedback.contains(feedback) {
                    result.media[index].codecs[codec].feedback.append(feedback)
                }
            }
            guard !result.media[index].isRejected else { continue }
            result.media[index].iceUfrag = result.media[index].iceUfrag ?? defaults.iceUfrag
            result.media[index].icePassword = result.media[index].icePassword ?? defaults.icePassword
            if result.media[index].iceOptions.isEmpty { result.media[index].iceOptions = defaults.iceOptions }
            if result.media[index].fingerprints.isEmpty { result.media[index].fingerprints = defaults.fingerprints }
            result.media[index].setup = result.media[index].setup ?? defaults.setup
        }
        return result
    }
}

extension SessionDescription {
    /// Reads a description from outside. Never traps; unknown attributes are kept, lines that do not matter may be broken.
    ///
    /// - Throws: `SDPError` with the line at fault, for text beyond 1 MiB or 64 sections too.
    public init(parsing text: String) throws(SDPError) {
        self = try SDPParser.parse(text)
    }
}
