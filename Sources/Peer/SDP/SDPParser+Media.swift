import Basics

/// The attributes that have a field of their own.
enum SDPAttributeName: String {
    case group, mid, rtpmap, fmtp, extmap, msid, ssrc, rid, simulcast, candidate, fingerprint, setup, sctpmap
    case iceLite = "ice-lite"
    case iceUfrag = "ice-ufrag"
    case icePassword = "ice-pwd"
    case iceOptions = "ice-options"
    case endOfCandidates = "end-of-candidates"
    case extmapAllowMixed = "extmap-allow-mixed"
    case msidSemantic = "msid-semantic"
    case rtcpMux = "rtcp-mux"
    case rtcpReducedSize = "rtcp-rsize"
    case rtcpFeedback = "rtcp-fb"
    case bundleOnly = "bundle-only"
    case ssrcGroup = "ssrc-group"
    case sctpPort = "sctp-port"
    case maxMessageSize = "max-message-size"
}

/// Parses the attributes of sections, each in time linear in its line, within the limits of ``SDPLimits``.
extension SDPParser {
    /// Parses attributes that may stand at either level.
    mutating func readTransport(_ name: SDPAttributeName, _ value: Substring) throws(SDPError) -> Bool {
        switch name {
        case .iceUfrag, .icePassword:
            guard name == .iceUfrag ? ICECredentials.isUfrag(value) : ICECredentials.isPassword(value) else {
                throw error(
                    "\(name.rawValue) must be 4 (pwd: 22) to 256 letters, digits, \"+\" or \"/\"; copy it unchanged")
            }
            current { if name == .iceUfrag { $0.iceUfrag = String(value) } else { $0.icePassword = String(value) } }
        case .iceOptions:
            current {
                $0.iceOptions = value.parts(maximum: SDPLimits.lists + 1).prefix(SDPLimits.lists).map(String.init)
            }
        case .fingerprint:
            guard let fingerprint = Fingerprint(parsing: value) else {
                throw error("fingerprint must be a hash name and hexadecimal bytes with colons; copy it unchanged")
            }
            current { if $0.fingerprints.count < SDPLimits.fingerprints { $0.fingerprints.append(fingerprint) } }
        case .setup:
            guard let setup = SetupRole(rawValue: String(value)) else {
                throw error("setup must be actpass, active or passive")
            }
            current { $0.setup = setup }
        default: return false
        }
        return true
    }

    /// False for an attribute that has no field here, or that is optional and could not be parsed.
    mutating func readMediaAttribute(_ name: SDPAttributeName, _ value: Substring) throws(SDPError) -> Bool {
        switch name {
        case .mid:
            guard !value.isEmpty, !value.utf8.contains(UInt8(ascii: " ")) else { throw error("mid must be one word") }
            current { $0.mid = String(value) }
            noteMid()
        case .rtcpMux: current { $0.rtcpMux = true }
        case .rtcpReducedSize: current { $0.rtcpReducedSize = true }
        case .bundleOnly: current { $0.bundleOnly = true }
        case .extmapAllowMixed: current { $0.extmapAllowMixed = true }
        case .endOfCandidates: current { $0.endOfCandidates = true }
        case .candidate: return readCandidate(value)
        case .rtpmap: try readRTPMap(value)
        case .fmtp:
            guard let (payloadType, rest) = payloadTypeAndRest(value) else { return false }
            withCodec(payloadType) { $0.parameters = FormatParameters(parsing: rest) }
        case .rtcpFeedback: return readFeedback(value)
        case .extmap: return readExtension(value)
        case .msid:
            guard let msid = MediaStreamID(parsing: value) else { return false }
            current { if $0.msids.count < SDPLimits.lists { $0.msids.append(msid) } }
        case .ssrc: return readSSRC(value)
        case .ssrcGroup: return readSourceGroup(value)
        case .rid: return readRestriction(value)
        case .simulcast: return readSimulcast(value)
        case .sctpPort:
            guard let port = UInt16(value) else { throw error("sctp-port must be a number up to 65535") }
            current { $0.sctpPort = port }
        case .sctpmap:
            // Before RFC 8841: "a=sctpmap:5000 webrtc-datachannel 1024".
            guard let port = value.firstWord().flatMap({ UInt16($0.word) }) else { return false }
            current { $0.sctpPort = $0.sctpPort ?? port }
            return false
        case .maxMessageSize:
            guard let size = Int(value), size >= 0 else { return false }
            current { $0.maxMessageSize = size }
        default: return false
        }
        return true
    }

    private mutating func readCandidate(_ value: Substring) -> Bool {
        guard candidateCount < SDPLimits.candidates else { return true }
        // Candidates that cannot be parsed cost as much.
        candidateCount += 1
        guard let candidate = Candidate(parsing: value) else { return false }
        current { $0.candidates.append(candidate) }
        return true
    }

    /// Whether a list of the current section has room for one more item; otherwise the line need not be parsed.
    private func hasRoom<Item>(_ list: KeyPath<MediaDescription, [Item]>, _ limit: Int) -> Bool {
        session.media.last.map { $0[keyPath: list].count < limit } ?? false
    }

    private func payloadTypeAndRest(_ value: Substring) -> (UInt8, Substring)? {
        guard let (first, rest) = value.firstWord(), let payloadType = UInt8(first),
            Int(payloadType) < SDPLimits.formats
        else { return nil }
        return (payloadType, rest)
    }

    /// fmtp and rtcp-fb may come before the rtpmap line of their payload type (Firefox): the codec is created here and
    /// named later.
    private mutating func withCodec(_ payloadType: UInt8, _ change: (inout CodecDescription) -> Void) {
        guard let last = session.media.indices.last else { return }
        let index: Int
        if let known = codecOfPayloadType[Int(payloadType)] {
            index = known
        } else {
            index = session.media[last].codecs.count
            session.media[last].codecs.append(CodecDescription(payloadType: payloadType, name: "", clockRate: 0))
            codecOfPayloadType[Int(payloadType)] = index
        }
        change(&session.media[last].codecs[index])
    }

    private mutating func readRTPMap(_ value: Substring) throws(SDPError) {
        guard let (payloadType, rest) = payloadTypeAndRest(value) else {
            throw error("rtpmap needs a payload type up to 127")
        }
        guard let (name, format) = rest.divided(at: "/"), !name.isEmpty,
            let rate = Int((format.divided(at: "/")?.head ?? format).trimmingSpaces()), rate > 0
        else {
            throw error("rtpmap needs a codec name and a clock rate, as in \"96 VP8/90000\"")
        }
        let channels = format.divided(at: "/").map { $0.tail.divided(at: "/")?.head ?? $0.tail }
        withCodec(payloadType) {
            $0.name = String(name)
            $0.clockRate = rate
            $0.channels = channels.flatMap { Int($0.trimmingSpaces()) }
        }
    }

    private mutating func readFeedback(_ value: Substring) -> Bool {
        guard let (first, rest) = value.firstWord(), !rest.isEmpty, let last = notes.indices.last else { return false }
        if first == "*" {
            let feedback = String(rest)
            guard notes[last].feedbackForAll.count < SDPLimits.feedback, !notes[last].feedbackForAll.contains(feedback)
            else { return true }
            notes[last].feedbackForAll.append(feedback)
            return true
        }
        guard let payloadType = UInt8(first), Int(payloadType) < SDPLimits.formats else { return false }
        withCodec(payloadType) { if $0.feedback.count < SDPLimits.feedback { $0.feedback.append(String(rest)) } }
        return true
    }

    private mutating func readExtension(_ value: Substring) -> Bool {
        guard hasRoom(\.extensions, SDPLimits.extensions) else { return true }
        let parts = value.parts(maximum: 3)
        guard parts.count >= 2 else { return false }
        let key = parts[0].divided(at: "/")
        guard let id = UInt8(key?.head ?? parts[0]), id > 0 else { return false }
        let mapping = ExtensionMapping(
            id: id, direction: key.flatMap { Direction(rawValue: String($0.tail)) }, uri: String(parts[1]),
            attributes: parts.count > 2 ? String(parts[2]) : nil)
        current { $0.extensions.append(mapping) }
        return true
    }

    private mutating func readSSRC(_ value: Substring) -> Bool {
        guard let (first, rest) = value.firstWord(), !rest.isEmpty, let ssrc = SSRC(first) else { return false }
        let pair = rest.divided(at: ":")
        let attribute = SDPAttribute(String(pair?.head ?? rest), pair.map { String($0.tail) })
        current { section in
            // The lines of one source are almost always consecutive.
            let last = section.ssrcs.indices.last
            let index =
                last.flatMap { section.ssrcs[$0].ssrc == ssrc ? $0 : nil }
                ?? section.ssrcs.firstIndex { $0.ssrc == ssrc }
            if let index {
                guard section.ssrcs[index].attributes.count < SDPLimits.sourceAttributes else { return }
                section.ssrcs[index].attributes.append(attribute)
            } else if section.ssrcs.count < SDPLimits.sources {
                section.ssrcs.append(SSRCDescription(ssrc: ssrc, attributes: [attribute]))
            }
        }
        return true
    }

    private mutating func readSourceGroup(_ value: Substring) -> Bool {
        guard hasRoom(\.ssrcGroups, SDPLimits.sourceGroups) else { return true }
        let parts = value.parts(maximum: SDPLimits.groupedSources + 2)
        let ssrcs = parts.dropFirst().prefix(SDPLimits.groupedSources).compactMap { SSRC($0) }
        guard parts.count >= 2, ssrcs.count == min(parts.count - 1, SDPLimits.groupedSources) else { return false }
        current { $0.ssrcGroups.append(SSRCGroup(semantics: String(parts[0]), ssrcs: ssrcs)) }
        return true
    }

    private mutating func readRestriction(_ value: Substring) -> Bool {
        guard hasRoom(\.rids, SDPLimits.restrictions) else { return true }
        let parts = value.parts(maximum: 3)
        guard parts.count >= 2, parts[1] == "send" || parts[1] == "recv" else { return false }
        let rid = RestrictionID(
            id: String(parts[0]), sends: parts[1] == "send", restrictions: parts.count > 2 ? String(parts[2]) : nil)
        current { $0.rids.append(rid) }
        return true
    }

    private mutating func readSimulcast(_ value: Substring) -> Bool {
        let parts = value.parts(maximum: 5)
        guard parts.count == 2 || parts.count == 4 else { return false }
        func first(_ text: Substring, _ separator: Unicode.Scalar) -> ArraySlice<Substring> {
            text.parts(separator, maximum: SDPLimits.restrictions + 1).prefix(SDPLimits.restrictions)
        }
        var simulcast = SimulcastDescription()
        for index in stride(from: 0, to: parts.count, by: 2) {
            let streams = first(parts[index + 1], ";").map { first($0, ",").map(String.init) }
            switch parts[index] {
            case "send": simulcast.send = streams
            case "recv": simulcast.receive = streams
            default: return false
            }
        }
        current { $0.simulcast = simulcast }
        return true
    }
}
