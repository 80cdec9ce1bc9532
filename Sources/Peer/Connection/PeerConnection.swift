import Basics

/// One WebRTC peer: negotiation, path, keys, media both ways and data channels, without I/O and without a clock.
///
/// Hand in datagrams, media and the time; after each, take out events with `nextEvent` and datagrams with `flush`, and
/// come back at `nextDeadline`. Confined to its loop.
public final class PeerConnection {
    let configuration: PeerConfiguration
    private let identity: DTLSIdentity
    private var negotiation: Negotiation
    /// What was agreed last; nil before the first answer.
    package private(set) var negotiated: NegotiatedSession?
    /// What the peer described itself with last.
    private var remoteDescription: SessionDescription?
    var ice: ICEAgent?
    var dtls: DTLSTransport?
    var srtp: SRTPContext?
    var channels: PeerChannels
    var sender: MediaSender
    var receiver: MediaReceiver
    let arena = PacketArena()
    var events = EventQueue()
    var state = State.new
    /// When the path was found and DTLS began.
    var handshakeStart: Instant?
    var reports = ReportSchedule()
    var receiveLimit: ReceiveLimit
    var announcement = EstimateAnnouncement()
    var droppedDatagrams = 0
    var unansweredDatagrams = 0
    /// What the datagram that was received last has shown of its flow, for `Demultiplexer.claim`; `.none` for all that
    /// is no authentic check.
    public internal(set) var latestClaim = FlowClaim.none
    var allowance: PeerAllowance
    var sources: SourceTable
    /// When the newest datagram or message came that was not worked through yet: those of one turn are worked through
    /// together.
    var unsettled: Instant?
    /// Whose reports ours are.
    var reportSSRC: SSRC = 0
    var knownUfrags: [String] = []
    let clock: WallClock
    /// The CNAME that all our streams share.
    var localName: String { negotiation.configuration.cname }

    enum State { case new, connecting, connected, ended }

    /// Makes a connection that waits for its first description.
    ///
    /// - Parameters:
    ///   - identity: the certificate; one may serve all connections.
    ///   - now: the time of the clock that all later calls take theirs from.
    /// - Throws: `PeerError` for a server without candidates.
    public init(_ configuration: PeerConfiguration, identity: DTLSIdentity, at now: Instant) throws(PeerError) {
        if configuration.role == .server, configuration.candidates.isEmpty {
            throw PeerError("A server connection needs at least one candidate to be reached at.")
        }
        self.configuration = configuration
        self.identity = identity
        var random = SeededRandom(
            seed: configuration.seed ?? ICECredentials.randomBytes(8).reduce(0) { $0 << 8 | UInt64($1) })
        let audioSSRC = SSRC.random(in: 1...0x3FFF_FFFF, using: &random)
        let videoSSRC = SSRC.random(in: 0x4000_0000...0x7FFF_FFFF, using: &random)
        let rtxSSRC = SSRC.random(in: 0x8000_0000...0xBFFF_FFFF, using: &random)
        let numbers = configuration.initialNumbers ?? .random(using: &random)
        clock = WallClock(offset: configuration.wallClockOffset)
        sender = MediaSender(
            audioSSRC: audioSSRC, videoSSRC: videoSSRC, rtxSSRC: rtxSSRC, numbers: numbers,
            bandwidth: configuration.bandwidth, clock: clock)
        receiver = MediaReceiver(configuration.videoReceive)
        receiveLimit = ReceiveLimit(configuration.receiveLimit)
        allowance = PeerAllowance(configuration.budget, at: now)
        sources = SourceTable(configuration.budget, at: now)
        channels = PeerChannels(budget: configuration.channelBudget)

        let candidates =
            configuration.role == .server
            ? configuration.candidates
            : configuration.localAddresses.enumerated().map { Candidate.host($0.element, preference: $0.offset) }
        var settings = NegotiationConfiguration(
            fingerprint: identity.fingerprint, isIceLite: configuration.role == .server, candidates: candidates,
            audioSSRC: audioSSRC,
            videoSSRC: videoSSRC, videoRTXSSRC: rtxSSRC, cname: ICECredentials.randomToken(16),
            streamID: configuration.streamID)
        settings.audio = configuration.audio
        settings.video = configuration.video
        settings.acceptsDataChannels = configuration.acceptsDataChannels
        settings.videoCodecs = configuration.videoCodecs
        settings.acceptsSimulcast = configuration.acceptsSimulcast
        settings.feedback = configuration.feedback
        settings.takesRedundantAudio = configuration.takesRedundantAudio
        settings.audioBandwidth = configuration.audioBandwidth
        settings.videoBandwidth = configuration.videoBandwidth
        settings.videoBandwidthWithoutREMB = configuration.receiveLimit
        settings.isCompact = configuration.isCompactOffer
        negotiation = Negotiation(configuration: settings)
    }

    // MARK: Negotiation

    /// Answers an offer of the peer's, the first or a later one.
    ///
    /// The description can be read beforehand on any thread (`SessionDescription(parsing:)`), and the answer be written
    /// out on any; this alone belongs to the connection's loop.
    public func answer(_ offer: SessionDescription, at now: Instant) throws(SDPError) -> SessionDescription {
        let (answer, session) = try negotiation.answer(offer, newCredentials: .random())
        remoteDescription = offer
        apply(session, at: now)
        return answer
    }

    /// The same for text: convenient for clients, which hold one connection.
    public func answer(_ offer: String, at now: Instant) throws(SDPError) -> String {
        try answer(SessionDescription(parsing: offer), at: now).description
    }

    /// Makes an offer; `iceRestart` looks for the path anew.
    public func makeOffer(at now: Instant, iceRestart: Bool = false) -> String {
        negotiation.makeOffer(iceRestart: iceRestart ? .random() : nil).description
    }

    /// Takes the answer to the last offer.
    public func accept(answer: SessionDescription, at now: Instant) throws(SDPError) {
        let session = try negotiation.accept(answer: answer)
        remoteDescription = answer
        apply(session, at: now)
    }

    /// The same for text.
    public func accept(answer: String, at now: Instant) throws(SDPError) {
        try accept(answer: SessionDescription(parsing: answer), at: now)
    }

    /// Restarts ICE with the peer's new credentials and answers ours. All that was negotiated stays, and media goes on
    /// over the old path until the new one is found.
    ///
    /// - Throws: `SDPError` when nothing is agreed yet or one of the two parts is not new; then nothing has changed.
    public func restartICE(remote: ICECredentials, at now: Instant) throws(SDPError) -> ICECredentials {
        let session = try negotiation.restartICE(remote: remote, newCredentials: .random())
        negotiated = session
        applyPath(session, at: now)
        drain(at: now)
        return session.localIce
    }

    /// Whether a description comes from another connection of the peer's than this one, such as that of a reloaded
    /// page: it names another certificate.
    public func isOther(than description: SessionDescription) -> Bool {
        remoteDescription.map { description.isOfOtherConnection(than: $0) } ?? false
    }

    /// A trickled candidate line; what is no candidate is ignored.
    public func addRemoteCandidate(_ line: String, at now: Instant) {
        guard let candidate = Candidate(parsing: line) else { return }
        ice?.addRemoteCandidate(candidate, at: now)
        drain(at: now)
    }

    /// Client: a TCP connection that was opened to a candidate of the peer.
    public func addFlow(_ flow: Flow, for candidate: Candidate, at now: Instant) {
        ice?.addFlow(flow, for: candidate, at: now)
        drain(at: now)
    }

    /// A TCP connection ended.
    public func removeFlow(_ flow: Flow, at now: Instant) {
        ice?.remove(flow, at: now)
        drain(at: now)
    }

    /// Whether an authentic check came on `flow` within the time that consent lasts.
    public func isValidated(_ flow: Flow) -> Bool { ice?.isValidated(flow) ?? false }

    /// The ICE user fragment of the peer's newest description or restart; nil before the first.
    public var remoteUfrag: String? { negotiated?.remoteIce.ufrag }

    /// Ours, for the `Demultiplexer`: a check may carry any of them.
    public var localUfrags: [String] { ice?.localUfrags ?? [] }

    private func apply(_ session: NegotiatedSession, at now: Instant) {
        negotiated = session
        applyPath(session, at: now)
        let audio = session.section(.audio)
        let video = session.section(.video)
        var codecs: [VideoCodec: OutgoingCodec] = [:]
        if let video, video.direction.sends {
            for codec in video.codecs {
                guard let name = codec.name.video, codecs[name] == nil else { continue }
                codecs[name] = OutgoingCodec(
                    payloadType: codec.payloadType, retransmissionPayloadType: codec.rtxPayloadType,
                    usesNack: codec.feedback.contains(.nack))
            }
        }
        let usesFeedback =
            video.map { $0.headerExtensions.transportCC != nil && $0.agreed(to: .transportCC) }
            ?? audio.map { $0.headerExtensions.transportCC != nil && $0.agreed(to: .transportCC) } ?? false
        let opus = audio.flatMap { $0.direction.sends ? $0.codecs.first { $0.name == .opus } : nil }
        sender.configure(
            audio: opus.map { OutgoingAudio(payloadType: $0.payloadType, redundantPayloadType: $0.redPayloadType) },
            audioExtensions: extensions(of: audio, usesFeedback: usesFeedback), video: codecs,
            videoExtensions: extensions(of: video, usesFeedback: usesFeedback), usesFeedback: usesFeedback,
            limit: Self.describedLimit(audio: audio, video: video))
        receiver.configure(session, at: now)
        sources.keep(session.sections.flatMap { $0.remoteSources.flatMap { [$0.ssrc, $0.rtx].compactMap(\.self) } })
        reportSSRC = sendsVideo ? sender.video.stream.ssrc : sender.audio.stream.ssrc
        channels.configure(session)
        if state == .connected {
            startChannels(at: now)
            if !codecs.isEmpty, sender.video.codec.map({ codecs[$0] == nil }) ?? true { sender.restartVideo(at: now) }
        }
        drain(at: now)
    }

    /// What `b=` leaves for everything that we send. A peer that speaks of its picture only leaves room for the sound
    /// beside it; 0 would mean no media at all and is more often a slip.
    private static func describedLimit(audio: NegotiatedSection?, video: NegotiatedSection?) -> BitRate? {
        guard let video, video.direction.sends, let picture = video.remoteBandwidth, picture > .zero else { return nil }
        guard let audio, audio.direction.sends else { return picture }
        return picture + (audio.remoteBandwidth ?? audioAllowance)
    }

    /// Opus at 32 kbit/s and its packets' headers.
    private static let audioAllowance = BitRate.kilobits(64)

    private func extensions(of section: NegotiatedSection?, usesFeedback: Bool) -> OutgoingExtensions {
        var result = OutgoingExtensions()
        guard let section else { return result }
        result.mid = section.headerExtensions.mid
        result.midValue = section.mid ?? ""
        result.absSendTime = section.headerExtensions.absSendTime
        result.transportCC = usesFeedback ? section.headerExtensions.transportCC : nil
        result.audioLevel = section.headerExtensions.audioLevel
        result.playoutDelay = section.headerExtensions.playoutDelay
        return result
    }

    private func applyPath(_ session: NegotiatedSession, at now: Instant) {
        if ice == nil {
            ice = ICEAgent(
                mode: configuration.role == .server ? .lite : .controlling, local: session.localIce,
                localAddresses: configuration.localAddresses, configuration: configuration.ice,
                seed: configuration.seed, at: now)
            state = .connecting
        } else if session.iceRestarted {
            ice?.restart(local: session.localIce, at: now)
        }
        ice?.setRemote(session.remoteIce, candidates: session.remoteCandidates, at: now)
        if dtls == nil {
            do {
                dtls = try DTLSTransport(
                    role: session.dtlsRole, identity: identity, configuration: configuration.dtls, at: now)
            } catch {
                fail(error.description)
            }
        }
        dtls?.setRemoteFingerprints(session.remoteFingerprints)
        noteUfrags()
    }

    func noteUfrags() {
        guard localUfrags != knownUfrags else { return }
        knownUfrags = localUfrags
        events.append(.ufragsChanged)
    }

    // MARK: What was agreed

    /// Whether the agreed direction lets us send sound; false before the first answer, as the next three.
    public var sendsAudio: Bool { negotiated?.section(.audio)?.direction.sends ?? false }
    /// Whether the peer may send sound.
    public var receivesAudio: Bool { negotiated?.section(.audio)?.direction.receives ?? false }
    /// Whether we may send a picture.
    public var sendsVideo: Bool { negotiated?.section(.video)?.direction.sends ?? false }
    /// Whether the peer may send a picture.
    public var receivesVideo: Bool { negotiated?.section(.video)?.direction.receives ?? false }
    /// Whether media may flow: from `connected` to the end.
    public var isConnected: Bool { state == .connected }
    /// Whether the connection has closed or failed, by either end.
    public var isEnded: Bool { state == .ended }

    /// What the peer can receive, in the negotiated order.
    public var videoSendFormats: [VideoSendFormat] {
        guard let section = negotiated?.section(.video), section.direction.sends else { return [] }
        var formats: [VideoSendFormat] = []
        for codec in section.codecs {
            guard let name = codec.name.video, !formats.contains(where: { $0.codec == name }) else { continue }
            formats.append(
                VideoSendFormat(
                    codec: name,
                    packetizationMode: name == .h264 ? codec.parameters.integer("packetization-mode") ?? 0 : 1,
                    profileLevelID: codec.parameters["profile-level-id"]))
        }
        return formats
    }

    /// What the peer asks of our Opus encoder.
    public var opusParameters: OpusParameters? { negotiated?.section(.audio)?.opus }

    /// What may be sent to the peer now, all kinds together.
    public var estimate: BitRate { sender.estimator.estimate }

    /// What of the frames handed in has not left yet: the pacer holds it.
    public var queuedVideoBytes: Int { sender.video.queuedBytes }

    // MARK: Out

    /// What happened next, in order; nil when all is told.
    public func nextEvent() -> PeerEvent? {
        settle()
        return events.next()
    }

    /// Hands out everything that is queued, in order.
    public func flush(_ send: (UnsafeRawBufferPointer, Flow) -> Void) {
        settle()
        arena.flush(send)
    }

    func fail(_ reason: String) {
        guard state != .ended else { return }
        state = .ended
        events.append(.failed(reason))
    }
}

/// Events in order; cheap at both ends.
struct EventQueue {
    private var items: [PeerEvent] = []
    private var head = 0

    mutating func append(_ event: PeerEvent) { items.append(event) }

    mutating func next() -> PeerEvent? {
        guard head < items.count else { return nil }
        defer {
            head += 1
            if head == items.count {
                items.removeAll(keepingCapacity: true)
                head = 0
            }
        }
        return items[head]
    }
}
