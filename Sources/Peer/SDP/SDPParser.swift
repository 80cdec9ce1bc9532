import Basics

/// Parses session descriptions of peers: never traps, takes time linear in their length, and is lenient where a line
/// does not matter to us. ``SDPLimits`` has the bounds.
struct SDPParser {
    var session = SessionDescription(origin: .init(sessionID: "0", version: 0))
    /// The session-level values of sections that do not override them (RFC 8839 §5.4, RFC 8122 §5).
    private var defaults = MediaDescription(kind: .other(""), port: 0, proto: "", formats: [])
    private var defaultDirection: Direction?
    /// What the parser must know of each section beside its description.
    var notes: [SectionNotes] = []
    /// The index of each payload type's codec in the current section; nil if it was not named yet.
    var codecOfPayloadType = [Int?](repeating: nil, count: SDPLimits.formats)
    var candidateCount = 0
    private var line = 0

    struct SectionNotes {
        var hasDirection = false
        var midLine = 0
        /// `a=rtcp-fb:*`.
        var feedbackForAll: [String] = []
    }

    static func parse(_ text: String) throws(SDPError) -> SessionDescription {
        guard text.utf8.count <= SDPLimits.bytes else {
            throw SDPError("The session description is longer than 1 MiB. Offer fewer sections or codecs.")
        }
        var parser = SDPParser()
        try parser.read(text)
        return try parser.finished()
    }

    private mutating func read(_ text: String) throws(SDPError) {
        var sawOrigin = false
        // Bytes, because CRLF is one Character in Swift.
        var rest = Substring(text).utf8
        while !rest.isEmpty {
            line += 1
            guard line <= SDPLimits.lines else {
                throw error("more than \(SDPLimits.lines) lines; offer fewer sections or codecs")
            }
            let end = rest.firstIndex(of: UInt8(ascii: "\n"))
            var raw = end.map { rest[..<$0] } ?? rest
            rest = end.map { rest[rest.index(after: $0)...] } ?? rest[rest.endIndex...]
            if raw.last == UInt8(ascii: "\r") { raw.removeLast() }
            if raw.isEmpty { continue }
            let type = raw.removeFirst()
            guard raw.popFirst() == UInt8(ascii: "=") else {
                throw error("not an SDP line; each line is a letter, \"=\" and a value")
            }
            let value = Substring(raw)
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
            case UInt8(ascii: "s"): session.name = String(value)
            case UInt8(ascii: "m"): try readMedia(value)
            case UInt8(ascii: "c"): if !session.media.isEmpty { current { $0.connection = String(value) } }
            case UInt8(ascii: "b"): readBandwidth(value)
            case UInt8(ascii: "a"): try readAttribute(value)
            default: break
            }
        }
        guard sawOrigin else { throw SDPError("The session description has no \"o=\" line. Send it complete.") }
    }

    func error(_ message: String) -> SDPError { SDPError(message, line: line) }

    /// Changes the current section, or the session's defaults before the first section.
    mutating func current(_ change: (inout MediaDescription) -> Void) {
        if let last = session.media.indices.last { change(&session.media[last]) } else { change(&defaults) }
    }

    private mutating func readOrigin(_ value: Substring) throws(SDPError) {
        let parts = value.parts(maximum: 7)
        guard parts.count == 6 else { throw error("\"o=\" needs six values: name, id, version, IN, IP4, address") }
        session.origin = .init(
            username: String(parts[0]), sessionID: String(parts[1]), version: UInt64(parts[2]) ?? 0,
            address: parts[3...].joined(separator: " "))
    }

    private mutating func readMedia(_ value: Substring) throws(SDPError) {
        guard session.media.count < SDPLimits.sections else {
            throw error(
                "more than \(SDPLimits.sections) \"m=\" sections; remove stopped ones by starting a new connection")
        }
        let parts = value.parts(maximum: SDPLimits.formats + 4)
        guard parts.count <= SDPLimits.formats + 3 else {
            throw error(
                "more than \(SDPLimits.formats) formats in one \"m=\" line; there are no more payload types than that")
        }
        // A port may carry a count: "49170/2".
        guard parts.count >= 4, let port = UInt16(parts[1].divided(at: "/")?.head ?? parts[1]) else {
            throw error("\"m=\" needs a kind, a port up to 65535, a protocol and at least one format")
        }
        session.media.append(
            MediaDescription(
                kind: MediaKind(parts[0]), port: port, proto: String(parts[2]), formats: parts[3...].map(String.init)))
        notes.append(SectionNotes())
        for index in codecOfPayloadType.indices { codecOfPayloadType[index] = nil }
    }

    private mutating func readBandwidth(_ value: Substring) {
        guard let (type, amount) = value.divided(at: ":"), let amount = Int(amount), amount >= 0, !session.media.isEmpty
        else { return }
        current { section in
            guard section.bandwidths.count < SDPLimits.lists else { return }
            section.bandwidths.append(BandwidthLine(type: String(type), value: amount))
        }
    }

    private mutating func readAttribute(_ text: Substring) throws(SDPError) {
        let pair = text.divided(at: ":")
        let name = String(pair?.head ?? text)
        let value = pair?.tail.trimmingSpaces() ?? ""
        if pair == nil, let direction = Direction(rawValue: name) {
            read(direction)
            return
        }
        if let attribute = SDPAttributeName(rawValue: name) {
            if try readTransport(attribute, value) { return }
            if session.media.isEmpty ? readSessionAttribute(attribute, value) : try readMediaAttribute(attribute, value)
            {
                return
            }
        }
        let attribute = SDPAttribute(name, pair == nil ? nil : String(value))
        if session.media.isEmpty {
            if session.attributes.count < SDPLimits.attributes { session.attributes.append(attribute) }
        } else {
            current { if $0.attributes.count < SDPLimits.attributes { $0.attributes.append(attribute) } }
        }
    }

    private mutating func read(_ direction: Direction) {
        guard let last = session.media.indices.last else {
            defaultDirection = direction
            return
        }
        session.media[last].direction = direction
        notes[last].hasDirection = true
    }

    private mutating func readSessionAttribute(_ name: SDPAttributeName, _ value: Substring) -> Bool {
        switch name {
        case .group:
            let parts = value.parts(maximum: SDPLimits.bundledSections + 2)
            guard parts.first == "BUNDLE" else { return false }
            if session.bundles.count < SDPLimits.bundles {
                session.bundles.append(parts.dropFirst().prefix(SDPLimits.bundledSections).map(String.init))
            }
        case .iceLite: session.isIceLite = true
        case .extmapAllowMixed: session.extmapAllowMixed = true
        case .msidSemantic: session.msidSemantic = String(value)
        default: return false
        }
        return true
    }

    mutating func noteMid() {
        if let last = notes.indices.last { notes[last].midLine = line }
    }

    private mutating func finished() throws(SDPError) -> SessionDescription {
        var mids = Set<String>()
        for (index, notes) in notes.enumerated() {
            if let mid = session.media[index].mid {
                guard !mids.contains(mid) else {
                    throw SDPError(
                        "the mid \"\(mid)\" is used by two sections; each needs its own", line: notes.midLine)
                }
                if !session.media[index].isRejected { mids.insert(mid) }
            }
            finish(&session.media[index], notes)
        }
        return session
    }

    /// Orders the codecs and takes over the session-level values.
    private func finish(_ section: inout MediaDescription, _ notes: SectionNotes) {
        if !notes.hasDirection, let defaultDirection { section.direction = defaultDirection }
        // Payload types without an rtpmap line (static ones, or invalid ones) are not codecs that we support.
        var places = [Int?](repeating: nil, count: SDPLimits.formats)
        for (index, codec) in section.codecs.enumerated() where !codec.name.isEmpty {
            places[Int(codec.payloadType)] = index
        }
        // The m= line gives the order of preference (RFC 8829 §5.3.1), not the order of the rtpmap lines.
        section.codecs = section.formats.compactMap { format in
            guard let payloadType = UInt8(format), Int(payloadType) < places.count, let place = places[Int(payloadType)]
            else { return nil }
            places[Int(payloadType)] = nil
            var codec = section.codecs[place]
            codec.add(feedback: notes.feedbackForAll)
            return codec
        }
        guard !section.isRejected else { return }
        section.iceUfrag = section.iceUfrag ?? defaults.iceUfrag
        section.icePassword = section.icePassword ?? defaults.icePassword
        if section.iceOptions.isEmpty { section.iceOptions = defaults.iceOptions }
        if section.fingerprints.isEmpty { section.fingerprints = defaults.fingerprints }
        section.setup = section.setup ?? defaults.setup
    }
}

extension CodecDescription {
    /// Adds the feedback that applies to every codec; most codecs have none of their own, and then share one array.
    fileprivate mutating func add(feedback more: [String]) {
        guard !feedback.isEmpty else {
            feedback = more
            return
        }
        for item in more where feedback.count < SDPLimits.feedback && !feedback.contains(item) { feedback.append(item) }
    }
}

extension SessionDescription {
    /// Parses a description of a peer, on any thread. Never traps; unknown attributes are kept, and lines that do not
    /// matter may be malformed.
    ///
    /// Its cost is linear in the text.
    /// - Throws: `SDPError` with the line at fault, also if there is more than any peer needs: 1 MiB, 4096 lines, 64
    ///   sections, 128 formats in one. What is optional is parsed up to a limit and the rest is ignored (page
    ///   "Negotiation").
    public init(parsing text: String) throws(SDPError) {
        self = try SDPParser.parse(text)
    }
}
