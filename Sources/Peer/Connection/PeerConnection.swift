public import Basics
import Cryptography

/// One WebRTC peer: negotiation, path, keys, media both ways and data channels, without I/O and without a clock.
///
/// The caller passes in datagrams, media and the time; after each it takes out events with `nextEvent` and datagrams
/// with `flush`, and calls `advance` at `nextDeadline`. Confined to its loop.
public final class PeerConnection {
    let configuration: PeerConfiguration
    private let identity: DTLSIdentity
    private var negotiation: Negotiation
    /// The result of the last negotiation; nil before the first answer.
    package private(set) var negotiated: NegotiatedSession?
    /// The peer's last description.
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
    package internal(set) var milestones = PeerMilestones()
    var reports = ReportSchedule()
    var receiveLimit: ReceiveLimit
    var announcement = EstimateAnnouncement()
    var handshakeRate = HandshakeRate()
    var droppedDatagrams = 0
    var unansweredDatagrams = 0
    /// What the last received datagram proved about its flow, for `Demultiplexer.claim`; `.none` unless it was an
    /// authentic check.
    public internal(set) var latestClaim = FlowClaim.none
    var allowance: PeerAllowance
    var sources: SourceTable
    /// When the newest datagram or message came that was not processed yet: those of one turn of the loop are processed
    /// together.
    var unsettled: Instant?
    /// The sender SSRC of our reports.
    var reportSSRC: SSRC = 0
    var knownUfrags: [String] = []
    let clock: WallClock
    /// The CNAME that all our streams share.
    var localName: String { negotiation.configuration.cname }

    enum State { case new, connecting, connected, ended }

    /// Makes a connection that waits for its first description.
    ///
    /// - Parameters:
    /// - identity: the certificate; one may serve all connections.
    /// - now: the time, of the clock that all later calls use.
    /// - Throws: `PeerError` for a server without candidates.
    public init(_ configuration: PeerConfiguration, identity: DTLSIdentity, at now: Instant) throws(PeerError) {
        if configuration.role == .server, configuration.candidates.isEmpty {
            throw PeerError("A server connection needs at least one candidate to be reached at.")
        }
        self.configuration = configuration
        self.identity = identity
        var random = SeededRandom(
            seed: configuration.seed ?? randomBytes(8).reduce(0) { $0 << 8 | UInt64($1) })
        let audioSSRC = SSRC.random(in: 1...0x3FFF_FFFF, using: &random)
        let videoSSRC = SSRC.random(in: 0x4000_0000...0x7FFF_FFFF, using: &random)
        let rtxSSRC = SSRC.random(in: 0x8000_0000...0xBFFF_FFFF, using: &random)
        let numbers = configuration.initialNumbers ?? .random(using: &random)
        clock = WallClock(offset: configuration.wallClockOffset)
        sender = MediaSender(
            audioSSRC: audioSSRC, videoSSRC: videoSSRC, rtxSSRC: rtxSSRC, numbers: numbers,
            bandwidth: configuration.bandwidth, clock: clock)
        receiver = MediaReceiver(configuration.videoReceive, trustsReports: configuration.trustsReports)
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
        settings.acceptsScreen = configuration.acceptsScreen
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

    /// Answers an offer of the peer, the first or a later one.
    ///
    /// The description can be parsed beforehand on any thread (`SessionDescription(parsing:)`), and the answer
    /// serialized on any; only this call is confined to the connection's loop.
    public func answer(_ offer: SessionDescription, at now: Instant) throws(SDPError) -> SessionDescription {
        let (answer, session) = try negotiation.answer(offer, newCredentials: .random())
        remoteDescription = offer
        apply(session, at: now)
        return answer
    }

    /// Answers an offer in text form: convenient for clients, which hold one connection.
    public func answer(_ offer: String, at now: Instant) throws(SDPError) -> String {
        try answer(SessionDescription(parsing: offer), at: now).description
    }

    /// Makes an offer; `iceRestart` requests new ICE credentials and a new path.
    public func makeOffer(at now: Instant, iceRestart: Bool = false) -> String {
        negotiation.makeOffer(iceRestart: iceRestart ? .random() : nil).description
    }

    /// Takes the peer's answer to the last offer.
    public func accept(answer: SessionDescription, at now: Instant) throws(SDPError) {
        let session = try negotiation.accept(answer: answer)
        remoteDescription = answer
        apply(session, at: now)
    }

    /// Takes an answer in text form.
    public func accept(answer: String, at now: Instant) throws(SDPError) {
        try accept(answer: SessionDescription(parsing: answer), at: now)
    }

    /// Restarts ICE with the peer's new credentials and returns ours. Everything else that was negotiated stays, and
    /// media continues over the old path until a new one is found.
    ///
    /// - Throws: `SDPError` when nothing is negotiated yet or the ufrag or the password is not new; then nothing has
    ///   changed.
    public func restartICE(remote: ICECredentials, at now: Instant) throws(SDPError) -> ICECredentials {
        let session = try negotiation.restartICE(remote: remote, newCredentials: .random())
        negotiated = session
        applyPath(session, at: now)
        drain(at: now)
        return session.localIce
    }

    /// Whether a description comes from another connection of the peer than this one, such as that of a reloaded page:
    /// it names another certificate.
    public func isOther(than description: SessionDescription) -> Bool {
        remoteDescription.map { description.isOfOtherConnection(than: $0) } ?? false
    }

    /// Adds a trickled candidate; a line that is no candidate is ignored.
    public func addRemoteCandidate(_ line: String, at now: Instant) {
        guard let candidate = Candidate(parsing: line) else { return }
        ice?.addRemoteCandidate(candidate, at: now)
        drain(at: now)
    }

    /// Client: adds a TCP connection that was opened to a candidate of the peer.
    public func addFlow(_ flow: Flow, for candidate: Candidate, at now: Instant) {
        ice?.addFlow(flow, for: candidate, at: now)
        drain(at: now)
    }

    /// Removes a TCP connection that has ended.
    public func removeFlow(_ flow: Flow, at now: Instant) {
        ice?.remove(flow, at: now)
        drain(at: now)
    }

    /// Whether an authentic check came on `flow` within the consent timeout.
    public func isValidated(_ flow: Flow) -> Bool { ice?.isValidated(flow) ?? false }

    /// The ICE user fragment of the peer's newest description or restart; nil before the first.
    public var remoteUfrag: String? { negotiated?.remoteIce.ufrag }

    /// Our ICE user fragments, for the `Demultiplexer`: a check may carry any of them.
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
        sources.protect(session.sections.flatMap { $0.remoteSources.flatMap { [$0.ssrc, $0.rtx].compactMap(\.self) } })
        reportSSRC = sendsVideo ? sender.video.stream.ssrc : sender.audio.stream.ssrc
        channels.configure(session)
        if state == .connected {
            startChannels(at: now)
            if !codecs.isEmpty, sender.video.codec.map({ codecs[$0] == nil }) ?? true { sender.restartVideo(at: now) }
        }
        drain(at: now)
    }

    /// What `b=` leaves for everything that we send. A peer that limits only its video leaves room for the audio beside
    /// it; 0 would mean no media at all and is more often a mistake.
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
            milestones.described = now
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

    // MARK: Negotiated state

    /// Whether the negotiated direction lets us send audio; false before the first answer, as are the next three.
    public var sendsAudio: Bool { negotiated?.section(.audio)?.direction.sends ?? false }
    /// Whether the peer may send audio.
    public var receivesAudio: Bool { negotiated?.section(.audio)?.direction.receives ?? false }
    /// Whether we may send video.
    public var sendsVideo: Bool { negotiated?.section(.video)?.direction.sends ?? false }
    /// Whether the peer may send video.
    public var receivesVideo: Bool { negotiated?.section(.video)?.direction.receives ?? false }
    /// Whether the peer may send its screen beside its video (``PeerConfiguration/acceptsScreen``).
    public var receivesScreen: Bool { negotiated?.screen?.direction.receives ?? false }
    /// Whether an authentic connectivity check of the peer has come.
    package var hasValidCheck: Bool { ice?.hasValidPath ?? false }
    /// Whether media may flow: from `connected` to the end.
    public var isConnected: Bool { state == .connected }
    /// Whether the connection has closed or failed, by either end.
    public var isEnded: Bool { state == .ended }

    /// The formats that the peer can receive, in the negotiated order.
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

    /// The peer's parameters for our Opus encoder.
    public var opusParameters: OpusParameters? { negotiated?.section(.audio)?.opus }

    /// The rate that may be sent to the peer now, audio and video together.
    public var estimate: BitRate { sender.estimator.estimate }

    /// The bytes of queued frames that the pacer still holds.
    public var queuedVideoBytes: Int { sender.video.queuedBytes }

    // MARK: Output

    /// The next event, in order; nil when there is none.
    public func nextEvent() -> PeerEvent? {
        settle()
        return events.next()
    }

    /// Passes every queued datagram to `send`, in order.
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

/// Events in order, with constant cost at both ends.
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
