import Basics
import Cryptography

/// Offers and answers for the life of one connection (RFC 3264, RFC 8829). A value without I/O: it keeps the order of
/// sections, the version, the DTLS role and the ICE credentials.
struct Negotiation: Sendable {
    var configuration: NegotiationConfiguration

    /// The result of the last negotiation.
    var agreed: NegotiatedSession?
    /// The description of ours that is in force.
    var localDescription: SessionDescription?
    /// An offer of ours without an answer yet.
    var pendingOffer: SessionDescription?
    var pendingCredentials: ICECredentials?
    var localIce: ICECredentials?
    var remoteDescription: SessionDescription?
    /// The role is set by the first description and never changed: Chrome cannot (RFC 8842 §5.5 allows it only with a
    /// new association).
    var role: DTLSRole?
    private let sessionID: String
    private var version: UInt64 = 0

    init(configuration: NegotiationConfiguration) {
        self.configuration = configuration
        // RFC 8829 §5.2.1: 64 bits with the highest 0, decimal; it must reveal nothing about the machine or the user.
        let id = randomBytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1
        sessionID = String(id)
    }

    var matching: CodecMatching { CodecMatching(configuration: configuration) }

    /// Whether the section at this place is that of the peer's screen.
    func isScreen(at index: Int) -> Bool {
        guard let sections = agreed?.sections, sections.indices.contains(index) else { return false }
        return sections[index].accepted && sections[index].isScreen
    }

    /// The most that a section may do: nothing is sent on the screen's.
    func allowed(_ kind: MediaKind, isScreen: Bool) -> Direction {
        let direction = configuration.direction(for: kind) ?? .inactive
        return isScreen ? direction.intersection(.receiveOnly) : direction
    }

    mutating func newDescription() -> SessionDescription {
        version += 1
        var description = SessionDescription(origin: .init(sessionID: sessionID, version: version))
        description.isIceLite = configuration.isIceLite
        description.msidSemantic = " WMS *"
        return description
    }

    /// Sets the transport attributes of an accepted section.
    func addTransport(
        _ section: inout MediaDescription, credentials: ICECredentials, setup: SetupRole, withCandidates: Bool
    ) {
        section.connection = "IN IP4 0.0.0.0"
        section.iceUfrag = credentials.ufrag
        section.icePassword = credentials.password
        section.fingerprints = [configuration.fingerprint]
        section.setup = setup
        if withCandidates {
            section.candidates = configuration.candidates
            section.endOfCandidates = true
        }
    }

    /// Adds our sources to a section that we send on.
    func addSources(_ section: inout MediaDescription, rtx: Bool) {
        let cname = SDPAttribute("cname", configuration.cname)
        let track = section.kind == .audio ? configuration.audioTrackID : configuration.videoTrackID
        let msid = MediaStreamID(stream: configuration.streamID, track: track)
        section.msids = [msid]
        var sources = [section.kind == .audio ? configuration.audioSSRC : configuration.videoSSRC]
        if section.kind == .video, rtx {
            sources.append(configuration.videoRTXSSRC)
            section.ssrcGroups = [SSRCGroup(semantics: "FID", ssrcs: sources)]
        }
        // Plan B clients take tracks only from the msid of an ssrc line.
        let attributes = configuration.isCompact ? [cname] : [cname, SDPAttribute("msid", msid.description)]
        section.ssrcs = sources.map { SSRCDescription(ssrc: $0, attributes: attributes) }
    }

    /// - Parameter codecs: the negotiated codecs; nil in an offer of ours.
    func addBandwidth(_ section: inout MediaDescription, codecs: [NegotiatedCodec]? = nil) {
        var rate = section.kind == .audio ? configuration.audioBandwidth : configuration.videoBandwidth
        if section.kind == .video, let codecs, !codecs.contains(where: { $0.feedback.contains(.remb) }) {
            rate = rate ?? configuration.videoBandwidthWithoutREMB
        }
        guard let rate else { return }
        // Firefox and RFC 3890 use TIAS, older libwebrtc only AS.
        section.bandwidths = [
            BandwidthLine(type: "AS", value: (rate.bitsPerSecond + 999) / 1000),
            BandwidthLine(type: "TIAS", value: rate.bitsPerSecond),
        ]
    }

    /// The negotiated section of a remote section and our description of it.
    func negotiated(
        _ remote: MediaDescription, codecs: [NegotiatedCodec], local: MediaDescription, isScreen: Bool = false
    ) -> NegotiatedSection {
        var section = NegotiatedSection(mid: remote.mid, kind: remote.kind)
        section.accepted = true
        section.isScreen = isScreen
        guard remote.kind != .application else { return section }
        section.direction = local.direction
        section.codecs = codecs
        section.headerExtensions = CodecMatching.map(local.extensions)
        section.remoteSources = sources(of: remote)
        section.remoteRIDs = local.rids.filter { !$0.sends }.map(\.id)
        section.remoteMsid = remote.msids.first ?? remote.ssrcs.lazy.compactMap(\.msid).first
        section.opus =
            remote.kind == .audio ? OpusParameters(codecs.first?.parameters ?? FormatParameters(), in: remote) : nil
        section.remoteBandwidth = remote.bandwidth
        section.remoteReducedSizeRTCP = remote.rtcpReducedSize
        return section
    }

    private func sources(of remote: MediaDescription) -> [RemoteSource] {
        let pairs = remote.ssrcGroups.filter { $0.semantics == "FID" && $0.ssrcs.count == 2 }
        let repairOf = Dictionary(pairs.map { ($0.ssrcs[0], $0.ssrcs[1]) }, uniquingKeysWith: { first, _ in first })
        let repairs = Set(pairs.map { $0.ssrcs[1] })
        return remote.ssrcs.filter { !repairs.contains($0.ssrc) }.map { source in
            RemoteSource(ssrc: source.ssrc, rtx: repairOf[source.ssrc], cname: source.cname)
        }
    }

    /// Makes the session with the peer's transport: that of the first section in use; all bundled sections have the
    /// same.
    func session(
        remote: SessionDescription, sections: [NegotiatedSection], localIce: ICECredentials, restarted: Bool,
        role: DTLSRole,
        mixed: Bool
    ) throws(SDPError) -> NegotiatedSession {
        let used = zip(remote.media, sections).filter(\.1.accepted).map(\.0)
        let first = used.first { $0.iceUfrag != nil } ?? used.first
        let remoteIce: ICECredentials
        if let ufrag = first?.iceUfrag, let password = first?.icePassword {
            remoteIce = ICECredentials(ufrag: ufrag, password: password)
        } else if first == nil, let previous = agreed?.remoteIce {
            remoteIce = previous
        } else {
            throw SDPError("The description has no ice-ufrag and ice-pwd. Send it as the browser made it.")
        }
        var fingerprints = first?.fingerprints ?? []
        if first == nil { fingerprints = agreed?.remoteFingerprints ?? [] }
        guard !fingerprints.isEmpty else {
            throw SDPError("The description has no fingerprint, so the media could not be encrypted. Use DTLS-SRTP.")
        }
        var candidates: [Candidate] = []
        var known = Set<Candidate>()
        // A lite agent checks no candidates.
        for section in configuration.isIceLite ? [] : used {
            for candidate in section.candidates where candidate.component == 1 && known.insert(candidate).inserted {
                candidates.append(candidate)
            }
        }
        let application = used.first { $0.kind == .application }
        return NegotiatedSession(
            localIce: localIce, remoteIce: remoteIce, iceRestarted: restarted, remoteCandidates: candidates,
            remoteIsLite: remote.isIceLite, remoteFingerprints: fingerprints, dtlsRole: role, sections: sections,
            sctpPort: application.map { $0.sctpPort ?? 5000 },
            // RFC 8841 §6.1: absent means 64 KiB.
            remoteMaxMessageSize: application?.maxMessageSize ?? 65_536, extmapAllowMixed: mixed)
    }
}
