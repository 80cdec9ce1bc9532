import Basics

extension Negotiation {
    /// Makes an offer: the first one with a section per accepted kind, later ones with the sections in force.
    ///
    /// - Parameter iceRestart: new credentials, for an ICE restart. Both parts must differ.
    mutating func makeOffer(iceRestart: ICECredentials? = nil) -> SessionDescription {
        let credentials = iceRestart ?? pendingCredentials ?? localIce ?? configuration.credentials
        let previous = localDescription
        var offer = newDescription()
        offer.extmapAllowMixed = previous?.extmapAllowMixed ?? !configuration.isCompact
        let media = previous?.media ?? firstSections()
        let mids = media.filter { !$0.isRejected }.compactMap(\.mid)
        if !mids.isEmpty { offer.bundles = [mids] }
        for (index, var section) in media.enumerated() {
            guard !section.isRejected else {
                offer.media.append(section)
                continue
            }
            section.candidates = []
            section.endOfCandidates = false
            // The receiving RIDs of an answer do not belong in an offer.
            section.rids = []
            section.simulcast = nil
            if section.isRTP {
                section.direction = allowed(section.kind, isScreen: isScreen(at: index))
                section.ssrcs = []
                section.ssrcGroups = []
                section.msids = []
                if section.direction.sends { addSources(&section, rtx: section.codecs.contains { $0.isNamed("rtx") }) }
            }
            let carriesCandidates = section.mid == nil || section.mid == mids.first
            // RFC 8842 §5.2: every offer has actpass, whatever the present role.
            addTransport(&section, credentials: credentials, setup: .actpass, withCandidates: carriesCandidates)
            offer.media.append(section)
        }
        pendingOffer = offer
        pendingCredentials = credentials
        return configuration.isCompact ? offer.sharingTransport : offer
    }

    /// Takes the answer to the last offer.
    ///
    /// - Throws: `SDPError`; then the offer is still pending.
    mutating func accept(answer: SessionDescription) throws(SDPError) -> NegotiatedSession {
        guard let offer = pendingOffer, let credentials = pendingCredentials else {
            throw SDPError("There is no offer to answer. Wait for one, or send an offer.")
        }
        guard answer.media.count == offer.media.count else {
            throw SDPError(
                "The answer has \(answer.media.count) sections, the offer \(offer.media.count). Answer each section in order."
            )
        }
        var sections: [NegotiatedSection] = []
        var local = offer
        var lacksCodec = false
        for (index, remote) in answer.media.enumerated() {
            let offered = offer.media[index]
            guard remote.kind == offered.kind, remote.mid == nil || remote.mid == offered.mid else {
                throw SDPError(
                    "Section \(index + 1) of the answer is not that of the offer. Keep the order and the mids.")
            }
            var section = NegotiatedSection(mid: offered.mid, kind: offered.kind)
            if remote.isRejected || offered.isRejected {
                local.media[index] = Self.rejection(of: offered)
            } else if let agreed = agreement(remote, &local.media[index]) {
                section = agreed
                section.isScreen = isScreen(at: index)
            } else {
                lacksCodec = true
                local.media[index] = Self.rejection(of: offered)
            }
            section.mid = offered.mid
            sections.append(section)
        }
        if lacksCodec, !sections.contains(where: { $0.accepted && $0.kind != .application }) {
            throw SDPError(
                "The answer takes none of the offered codecs. Answer with Opus, VP8 or H.264.", code: .noCommonCodec)
        }
        guard sections.contains(where: \.accepted) else {
            throw SDPError("The answer rejects every section. Accept audio, video or the data channel.")
        }
        let setup = zip(answer.media, sections).first { $0.1.accepted }?.0.setup
        // RFC 4145 §4.1: the answerer chooses; absent means active.
        let role = self.role ?? (setup == .passive ? .client : .server)
        let restarted = localIce.map { $0 != credentials } ?? false
        let session = try session(
            remote: answer, sections: sections, localIce: credentials, restarted: restarted, role: role,
            mixed: offer.extmapAllowMixed
                && (answer.extmapAllowMixed || answer.media.contains(where: \.extmapAllowMixed)))
        self.role = role
        localIce = credentials
        localDescription = local
        remoteDescription = answer
        pendingOffer = nil
        pendingCredentials = nil
        agreed = session
        return session
    }

    /// What an answered section and our offer of it have in common; nil without a common codec. `local` is narrowed to
    /// it.
    private func agreement(_ remote: MediaDescription, _ local: inout MediaDescription) -> NegotiatedSection? {
        if remote.kind == .application { return negotiated(remote, codecs: [], local: local) }
        let offered = local
        var answered = remote
        // The answer may only choose among the offered payload types and extension ids.
        answered.codecs.removeAll { codec in
            guard let ours = offered.codec(codec.payloadType), ours.isNamed(codec.name.lowercased()) else {
                return true
            }
            guard codec.isNamed("h264"), let theirs = H264Format(codec.parameters),
                let format = H264Format(ours.parameters)
            else { return false }
            return !theirs.matches(format)
        }
        answered.extensions.removeAll { mapping in
            !offered.extensions.contains { $0.id == mapping.id && $0.uri == mapping.uri }
        }
        var codecs = matching.codecs(of: answered)
        guard !codecs.isEmpty else { return nil }
        for index in codecs.indices {
            codecs[index].feedback.formIntersection(
                CodecFeedback(offered.codec(codecs[index].payloadType)?.feedback ?? []))
        }
        local.codecs = matching.descriptions(codecs)
        local.formats = local.codecs.map { String($0.payloadType) }
        local.extensions = matching.extensions(of: answered, mixed: remote.extmapAllowMixed)
        local.direction = remote.direction.mirrored.intersection(offered.direction)
        return negotiated(answered, codecs: codecs, local: local)
    }

    private func firstSections() -> [MediaDescription] {
        var sections: [MediaDescription] = []
        let feedback: CodecFeedback = configuration.isCompact ? [] : configuration.feedback
        func add(_ kind: MediaKind, proto: String, formats: [String] = [], _ fill: (inout MediaDescription) -> Void) {
            var section = MediaDescription(kind: kind, port: 9, proto: proto, formats: formats)
            section.mid = String(sections.count)
            fill(&section)
            if section.isRTP {
                section.formats = section.codecs.map { String($0.payloadType) }
                section.rtcpMux = true
                section.rtcpReducedSize = !configuration.isCompact
                section.extensions = offeredExtensions(kind)
                addBandwidth(&section)
            }
            sections.append(section)
        }
        if configuration.audio != nil {
            add(.audio, proto: "UDP/TLS/RTP/SAVPF") { section in
                section.codecs = matching.descriptions([
                    NegotiatedCodec(
                        name: .opus, payloadType: 111,
                        redPayloadType: configuration.takesRedundantAudio && !configuration.isCompact ? 63 : nil,
                        clockRate: 48_000, parameters: FormatParameters(), feedback: feedback.intersection(.transportCC)
                    )
                ])
            }
        }
        if configuration.video != nil {
            add(.video, proto: "UDP/TLS/RTP/SAVPF") { section in
                section.codecs = matching.descriptions((configuration.videoCodecs ?? [.vp8, .h264]).map(offered))
            }
        }
        if configuration.acceptsDataChannels {
            add(.application, proto: "UDP/DTLS/SCTP", formats: ["webrtc-datachannel"]) { section in
                section.sctpPort = configuration.sctpPort
                section.maxMessageSize = configuration.maxMessageSize
            }
        }
        return sections
    }

    /// A compact offer has no RTX: lost packets come again with their own SSRC. And of two kinds of feedback for one
    /// purpose it has the one that every peer knows.
    private func offered(_ codec: VideoCodec) -> NegotiatedCodec {
        let isCompact = configuration.isCompact
        let feedback =
            isCompact ? configuration.feedback.subtracting([.fir, .tmmbr]) : configuration.feedback
        return switch codec {
        case .vp8:
            NegotiatedCodec(
                name: .vp8, payloadType: 96, rtxPayloadType: isCompact ? nil : 97, clockRate: 90_000,
                parameters: FormatParameters(), feedback: feedback)
        case .av1:
            NegotiatedCodec(
                name: .av1, payloadType: 98, rtxPayloadType: isCompact ? nil : 99, clockRate: 90_000,
                parameters: FormatParameters(parsing: "level-idx=5;profile=0;tier=0"), feedback: feedback)
        case .h264:
            NegotiatedCodec(
                name: .h264, payloadType: 102, rtxPayloadType: isCompact ? nil : 103, clockRate: 90_000,
                parameters: FormatParameters(
                    parsing: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"),
                feedback: feedback)
        }
    }

    private func offeredExtensions(_ kind: MediaKind) -> [ExtensionMapping] {
        let order: [HeaderExtension] = [.audioLevel, .absSendTime, .transportCC, .mid, .playoutDelay]
        return order.enumerated().compactMap { index, item in
            guard configuration.headerExtensions.contains(item), item.applies(to: kind),
                !configuration.isCompact || Self.isInCompactOffers(item, of: kind)
            else { return nil }
            return ExtensionMapping(id: UInt8(index + 1), uri: item.rawValue)
        }
    }

    /// The audio level shows who speaks, and the transport's numbers show what its path carries, for which those of
    /// video suffice. The sources are named, so that nothing is found by MID.
    private static func isInCompactOffers(_ item: HeaderExtension, of kind: MediaKind) -> Bool {
        switch item {
        case .audioLevel: true
        case .transportCC: kind == .video
        default: false
        }
    }
}

extension SessionDescription {
    /// The same with the transport's attributes once for all sections (RFC 8839 §5.4, RFC 8122 §5), and the feedback
    /// once for all codecs.
    fileprivate var sharingTransport: SessionDescription {
        var result = self
        guard let first = media.first(where: { !$0.isRejected }) else { return result }
        result.msidSemantic = nil
        result.connection = first.connection
        result.attributes += [("ice-ufrag", first.iceUfrag), ("ice-pwd", first.icePassword)].compactMap { name, value in
            value.map { SDPAttribute(name, $0) }
        }
        result.attributes += first.fingerprints.map { SDPAttribute("fingerprint", "\($0)") }
        if let setup = first.setup { result.attributes.append(SDPAttribute("setup", setup.rawValue)) }
        for index in result.media.indices {
            result.media[index].connection = nil
            (result.media[index].iceUfrag, result.media[index].icePassword) = (nil, nil)
            result.media[index].fingerprints = []
            result.media[index].setup = nil
            result.media[index].endOfCandidates = false
            result.media[index].shareFeedback()
        }
        return result
    }
}

extension MediaDescription {
    /// States the feedback of all codecs once (`a=rtcp-fb:*`, RFC 4585 §4.2), where it is the same.
    fileprivate mutating func shareFeedback() {
        guard codecs.count > 1, let feedback = codecs.first?.feedback, codecs.allSatisfy({ $0.feedback == feedback })
        else { return }
        for index in codecs.indices { codecs[index].feedback = [] }
        attributes += feedback.map { SDPAttribute("rtcp-fb", "* \($0)") }
    }
}
