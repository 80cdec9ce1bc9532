extension Negotiation {
    /// Answers an offer: chooses the sections, rejects the others, then negotiates codecs, extensions, directions and
    /// transport, in this order.
    ///
    /// `newCredentials` are used for the first answer and when the peer restarts ICE; otherwise the present ones stay.
    /// A pending offer of ours is dropped: only one side offers, so a peer that offers has not seen it.
    /// - Throws: `SDPError`; then nothing has changed.
    mutating func answer(
        _ offer: SessionDescription, newCredentials: ICECredentials
    ) throws(SDPError) -> (SessionDescription, NegotiatedSession) {
        guard !offer.media.isEmpty else {
            throw SDPError(
                "The offer has no \"m=\" section. Add a transceiver, a track or a data channel before offering.")
        }
        if let known = localDescription?.media.count, offer.media.count < known {
            throw SDPError(
                "The offer has \(offer.media.count) sections where there were \(known). Sections may only be added.")
        }
        let (chosen, screen) = try choose(offer)
        let role =
            self.role
            ?? Self.role(offer: chosen.first.flatMap { offer.media[$0].setup }, preferred: configuration.preferredRole)
        let restarted = restartsIce(offer, chosen: chosen)
        let credentials = restarted ? newCredentials : localIce ?? newCredentials

        var draft = self
        var answer = draft.newDescription()
        answer.extmapAllowMixed = offer.extmapAllowMixed
        let bundle = offer.bundles.first { group in chosen.contains { offer.media[$0].mid.map(group.contains) ?? false }
        }
        let bundled = (bundle ?? []).filter { mid in chosen.contains { offer.media[$0].mid == mid } }
        if !bundled.isEmpty { answer.bundles = [bundled] }
        var sections: [NegotiatedSection] = []
        for (index, remote) in offer.media.enumerated() {
            guard chosen.contains(index) else {
                answer.media.append(Self.rejection(of: remote))
                sections.append(NegotiatedSection(mid: remote.mid, kind: remote.kind))
                continue
            }
            let codecs = matching.codecs(of: remote, isSent: index != screen && remote.direction.receives)
            var local = accepted(
                remote, codecs: codecs, isScreen: index == screen,
                mixed: offer.extmapAllowMixed || remote.extmapAllowMixed,
                keepsSources: namesSources(at: index))
            let carriesCandidates =
                remote.mid == nil || !bundled.contains(remote.mid ?? "") || remote.mid == bundled.first
            addTransport(
                &local, credentials: credentials, setup: role == .server ? .passive : .active,
                withCandidates: carriesCandidates)
            answer.media.append(local)
            sections.append(negotiated(remote, codecs: codecs, local: local, isScreen: index == screen))
        }
        let mixed = offer.extmapAllowMixed || offer.media.contains(where: \.extmapAllowMixed)
        let session = try session(
            remote: offer, sections: sections, localIce: credentials, restarted: restarted, role: role, mixed: mixed)

        draft.role = role
        draft.localIce = credentials
        draft.pendingOffer = nil
        draft.pendingCredentials = nil
        draft.localDescription = answer
        draft.remoteDescription = offer
        draft.agreed = session
        self = draft
        return (answer, session)
    }

    /// Restarts ICE alone, as a WHIP client requests (RFC 9725 §4.3.3): everything else that was negotiated stays.
    ///
    /// - Parameters:
    ///   - remote: the peer's new credentials; both parts must differ from the present ones (RFC 8839 §4.4.1.1.1).
    /// - newCredentials: our new credentials.
    /// - Throws: `SDPError`; then nothing has changed.
    mutating func restartICE(remote: ICECredentials, newCredentials: ICECredentials) throws(SDPError)
        -> NegotiatedSession
    {
        guard var session = agreed else {
            throw SDPError("Nothing is agreed yet, so there is no ICE to restart. Send an offer.")
        }
        guard remote.isWellFormed else {
            throw SDPError(
                "ice-ufrag must be 4 and ice-pwd 22 to 256 letters, digits, \"+\" or \"/\". Copy them unchanged.")
        }
        guard remote.ufrag != session.remoteIce.ufrag, remote.password != session.remoteIce.password else {
            throw SDPError("An ICE restart needs a new ice-ufrag and a new ice-pwd.")
        }
        session.localIce = newCredentials
        session.remoteIce = remote
        session.iceRestarted = true
        session.remoteCandidates = []
        agreed = session
        localIce = newCredentials
        for index in localDescription?.media.indices ?? 0..<0 where localDescription?.media[index].iceUfrag != nil {
            localDescription?.media[index].iceUfrag = newCredentials.ufrag
            localDescription?.media[index].icePassword = newCredentials.password
        }
        return session
    }

    /// The indices of the sections to accept: one audio, one video, one data channel, and among them that of a screen,
    /// a second video section.
    private func choose(_ offer: SessionDescription) throws(SDPError) -> (chosen: [Int], screen: Int?) {
        var chosen: [Int] = []
        var screen: Int?
        for kind in [MediaKind.audio, .video] where configuration.direction(for: kind) != nil {
            let live = offer.media.indices.filter {
                offer.media[$0].kind == kind && !offer.media[$0].isRejected && offer.media[$0].isRTP
            }
            let usable = live.filter { matching.hasCodec(offer.media[$0]) }
            if usable.isEmpty, !live.isEmpty {
                let names = kind == .audio ? "Opus" : "VP8 or H.264"
                throw SDPError(
                    "The offer's \(kind) has no codec in common with this room. Offer \(names).", code: .noCommonCodec)
            }
            // A section that the peer sends on is preferred to one on which it only receives; among equals the one in
            // use stays.
            let others = usable.filter { !isScreen(at: $0) }
            let best = (others.isEmpty ? usable : others)
                .map { (rank(offer.media[$0], at: $0, among: usable, of: offer), $0) }.min { $0.0 < $1.0 }?.1
            guard let best else { continue }
            chosen.append(best)
            guard kind == .video, configuration.acceptsScreen else { continue }
            let screens = usable.filter { $0 != best && (offer.media[$0].direction.sends || isScreen(at: $0)) }
            screen = screens.first(where: isScreen(at:)) ?? screens.first
            if let screen { chosen.append(screen) }
        }
        if configuration.acceptsDataChannels {
            let data = offer.media.indices.filter { index in
                let section = offer.media[index]
                return section.kind == .application && !section.isRejected && section.proto.contains("DTLS/SCTP")
                    && (section.formats.contains("webrtc-datachannel") || section.sctpPort != nil)
            }
            if let index = data.first { chosen.append(index) }
        }
        if chosen.isEmpty, agreed == nil {
            throw SDPError(
                "The offer has no audio, video or data channel that this room takes. Offer Opus, VP8 or H.264.")
        }
        return (chosen.sorted(), screen)
    }

    private func rank(
        _ section: MediaDescription, at index: Int, among usable: [Int], of offer: SessionDescription
    ) -> (Int, Int, Int) {
        // Where a screen is accepted, a section that only sends, behind one that receives, is the screen of a peer
        // without a camera.
        let mayBeScreen =
            configuration.acceptsScreen && section.kind == .video && !section.direction.receives
            && usable.contains { $0 < index && offer.media[$0].direction.receives }
        let use = section.direction.sends && !mayBeScreen ? 0 : section.direction.receives || mayBeScreen ? 1 : 2
        let previous = agreed?.sections.indices.contains(index) == true ? agreed?.sections[index] : nil
        return (use, previous?.accepted == true && previous?.mid == section.mid ? 0 : 1, index)
    }

    /// Our role after an offer (RFC 4145 §4.1, RFC 8842 §5.3); an absent `setup` means active.
    static func role(offer: SetupRole?, preferred: DTLSRole) -> DTLSRole {
        switch offer {
        case .active, nil: .server
        case .passive: .client
        case .actpass, .holdconn: preferred
        }
    }

    /// Whether both the fragment and the password are new (RFC 8839 §4.4.1.1.1); the first description is no restart.
    private func restartsIce(_ offer: SessionDescription, chosen: [Int]) -> Bool {
        guard let previous = agreed?.remoteIce, let section = chosen.first.map({ offer.media[$0] }) else {
            return false
        }
        return section.iceUfrag != previous.ufrag && section.icePassword != previous.password
    }

    /// A rejected section has port 0 and a format, and is not in the bundle group: it needs no more (RFC 8829 §5.3.1).
    static func rejection(of remote: MediaDescription) -> MediaDescription {
        var section = MediaDescription(
            kind: remote.kind, port: 0, proto: remote.proto,
            formats: remote.isRTP ? Array(remote.formats.prefix(1)) : remote.formats)
        section.connection = "IN IP4 0.0.0.0"
        section.mid = remote.mid
        section.direction = .inactive
        if remote.isRTP {
            let payloadType = remote.formats.first.flatMap { UInt8($0) }
            section.codecs = remote.codecs.filter { $0.payloadType == payloadType }.map { codec in
                CodecDescription(
                    payloadType: codec.payloadType, name: codec.name, clockRate: codec.clockRate,
                    channels: codec.channels)
            }
        }
        return section
    }

    private func accepted(
        _ remote: MediaDescription, codecs: [NegotiatedCodec], isScreen: Bool, mixed: Bool, keepsSources: Bool
    ) -> MediaDescription {
        var local = MediaDescription(kind: remote.kind, port: 9, proto: remote.proto, formats: remote.formats)
        local.mid = remote.mid
        if remote.kind == .application {
            if local.formats.contains("webrtc-datachannel") {
                local.sctpPort = configuration.sctpPort
            } else {
                // Before RFC 8841 the format was the port.
                local.attributes = [
                    SDPAttribute("sctpmap", "\(remote.formats.first ?? "5000") webrtc-datachannel 1024")
                ]
            }
            local.maxMessageSize = configuration.maxMessageSize
            return local
        }
        local.direction = remote.direction.mirrored.intersection(allowed(remote.kind, isScreen: isScreen))
        local.codecs = matching.descriptions(codecs)
        local.formats = local.codecs.map { String($0.payloadType) }
        local.extensions = matching.extensions(of: remote, mixed: mixed)
        local.extmapAllowMixed = remote.extmapAllowMixed
        local.rtcpMux = remote.rtcpMux
        local.rtcpReducedSize = remote.rtcpReducedSize
        addBandwidth(&local, codecs: codecs)
        if local.direction.sends || keepsSources {
            addSources(&local, rtx: codecs.contains { $0.rtxPayloadType != nil })
        }
        if local.direction.receives { acceptSimulcast(remote, &local) }
        return local
    }

    /// Whether the description in force names our sources there. They stay named while the peer is on hold: Chromium
    /// (156) drops a stream whose source disappears from the section, and when the same source returns it decodes it
    /// but shows nothing.
    private func namesSources(at index: Int) -> Bool {
        guard let media = localDescription?.media, media.indices.contains(index) else { return false }
        return !media[index].ssrcs.isEmpty
    }

    /// Accepts every encoding that the peer offers to send (RFC 8853 §5.3.2); without the RID extension they could not
    /// be distinguished.
    private func acceptSimulcast(_ remote: MediaDescription, _ local: inout MediaDescription) {
        guard configuration.acceptsSimulcast, let simulcast = remote.simulcast,
            local.extensions.contains(where: { $0.uri == HeaderExtension.rid.rawValue })
        else { return }
        let offered = Set(remote.rids.filter(\.sends).map(\.id))
        var ids: [String] = []
        for stream in simulcast.send {
            guard let id = stream.first.map({ String($0.drop { $0 == "~" }) }), offered.contains(id), !ids.contains(id)
            else {
                continue
            }
            ids.append(id)
        }
        guard !ids.isEmpty, ids.count <= 8 else { return }
        local.rids = ids.map { RestrictionID(id: $0, sends: false) }
        local.simulcast = SimulcastDescription(receive: ids.map { [$0] })
    }
}
