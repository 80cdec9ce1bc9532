import Basics
package import Peer

/// A picture that a peer takes as it comes, in a format of its own.
private struct ForwardedPicture: Equatable {
    var id: String
    var format: VideoSendFormat
}

/// One participant's peer connection on its loop, with the rendition and the audio that it gets of its room.
package final class PeerSession {
    let id: String
    let seatID: PeerID
    package let peer: PeerConnection
    let engine: RoomEngine
    let intake: Intake
    let opensChannels: [String]
    /// The label of the data channel by which the peer gets and sends chat; nil: it has other signalling for that.
    let chatChannel: String?

    /// The view that the peer gets.
    private(set) var view: ViewID
    /// The participants that get its messages of data channels, and whose messages it gets.
    private(set) var group: GroupID
    /// The video format that the peer's decoder takes; nil before an offer, or when the peer takes no video.
    private(set) var format: VideoSendFormat?
    /// All that its decoder takes, the best first.
    private var formats: [VideoSendFormat] = []
    private var thinCodec = ThinCodec()
    /// Whether the choice is made in AV1.
    private var isThin = false
    var selector: RenditionSelector
    var ladder: Ladder
    private var membership = RenditionMembership<RenditionKey>()
    private var rareStills = RareStills()
    private var forwarding = ForwardingChoice()
    /// The picture that the peer takes as it comes; nil: it gets the mix.
    private var forwarded: ForwardedPicture?
    /// What the participant is asked to send at most.
    var receiveLimits = ReceiveLimits()
    /// Why the peer's picture is not larger.
    package var reason: LinkReason { selector.reason }
    /// Before the first estimate: a thin link must carry this profile beside the first probe.
    var profile = AudioProfile.narrow
    /// The limits of the peer's session description for the audio that it receives.
    var receiverLimits: OpusReceiverLimits {
        peer.opusParameters.map { OpusReceiverLimits($0, roomRate: engine.audioBitRate) } ?? OpusReceiverLimits()
    }
    var estimate: BitRate?
    var loss = 0.0
    var roundTrip = Duration.zero
    package var isConnected = false
    var isDirty = false
    /// The loop's time that the peer may take, and the time that it took in this turn.
    package var loopBudget: LoopBudget
    var spent = Duration.zero
    /// Other loops that have read datagrams of the peer's flows.
    var readers: Set<Int> = []
    /// Whether its data channel messages go to the rest of the room.
    var maySendMessages: Bool
    var channels = OpenChannels()
    /// The traces of frames that wait in the peer's pacer.
    var leaving: [PictureTrace] = []
    var meter = LinkMeter()
    var arrivals: ArrivalWatch
    /// The faults that the counters of the loop hold already.
    var lastFaults = PeerFaults()
    /// Video frames per second, sent to the peer and received from it, in the last second.
    package var frameRates: (sent: Double, received: Double) { meter.frameRates }

    package init(
        id: String, seatID: PeerID, peer: PeerConnection, engine: RoomEngine, intake: Intake,
        opensChannels: [String], chatChannel: String? = nil, maySendMessages: Bool = true, claims: MediaKinds = [],
        loopBudget: LoopBudget
    ) {
        self.maySendMessages = maySendMessages
        arrivals = ArrivalWatch(claimed: claims)
        self.loopBudget = loopBudget
        self.id = id
        self.seatID = seatID
        self.peer = peer
        self.engine = engine
        self.intake = intake
        view = engine.view(of: id)
        group = engine.group(of: id)
        self.opensChannels = opensChannels
        self.chatChannel = chatChannel
        ladder = engine.ladder(of: view)
        selector = RenditionSelector(rates: ladder.rungs.map(\.bitRate))
    }

    /// Takes the formats of an offer or answer, the best first.
    func take(_ formats: [VideoSendFormat]) {
        self.formats = formats
        let others = formats.filter { $0.codec != .av1 }
        if format.map({ !others.contains($0) }) ?? true { format = others.first }
        thinCodec.offer(formats.contains { $0.codec == .av1 })
        selector.configuration = configuration
    }

    private var configuration: RenditionSelector.Configuration {
        let isThin = thinCodec.isOffered && !engine.savesWork && ladder.thin != nil
        var configuration: RenditionSelector.Configuration = !isThin ? .init() : hasScreen ? .thinScreen : .thin
        configuration.follow(
            loss: loss, extraAudio: profile.extraRate(engine.audioBitRate, takesCopies: peer.takesAudioCopies))
        return configuration
    }

    /// The highest rung that the peer may have while an overload removes the rungs above `limit`.
    func ceiling(_ limit: Int) -> Int {
        Self.sharesRecording(engine.recorded, view: view, format: format) ? 0 : limit
    }

    /// A recording keeps its encoder of the top rung running, overload or not. A peer that takes those frames costs
    /// nothing; moved down, it would only start another encoder.
    static func sharesRecording(_ recorded: Set<ViewID>, view: ViewID, format: VideoSendFormat?) -> Bool {
        recorded.contains(view) && format?.codec == .h264 && format?.packetizationMode != 0
    }

    /// The height in pixels of the picture that the peer gets; 0: audio with stills, or audio alone.
    package var rungHeight: Int {
        guard format != nil, case .rung = selector.choice, let chosen = kind else { return 0 }
        if let active = membership.active, active.view == view, active.kind != .stills {
            if active.kind.isForwarded, let size = engine.rendition(active)?.size { return size.height }
            return ladder.rung(for: active.kind, active.codec).height
        }
        return ladder.rung(for: chosen, codec ?? .h264).height
    }

    /// The state of the peer's link; nil when it did not change since the last call.
    func reportedLink() -> LinkState? {
        var link = meter.measured
        link.estimate = estimate ?? peer.estimate
        link.lossDown = loss
        link.roundTrip = roundTrip
        link.rung = rungHeight
        link.reason = reason
        link.mode = selector.mode
        link.isForwarded = isForwarded
        link.heard = arrivals.heard
        link.seen = arrivals.seen
        return meter.report(link)
    }

    /// Keeps the trace of a frame until the frame has left. At most four: a backlog beyond that is the link's delay,
    /// not the server's.
    func follow(_ trace: PictureTrace) {
        if leaving.count < 4 { leaving.append(trace) }
    }

    private var budget: BitRate? {
        estimate.map {
            profile.videoBudget(
                of: $0, loss: loss, roomRate: engine.audioBitRate, takesCopies: peer.takesAudioCopies)
        }
    }

    /// Joins the rendition of the selector's choice. The peer gets the old one until the new one's keyframe, or the
    /// joining rendition where it would see nothing, or much less, until then.
    func choose(at now: Instant) {
        guard isConnected, let format else { return leaveRenditions() }
        isThin = isChoiceThin(at: now)
        forwarded = pictureToForward(at: now)
        if let forwarded, forward(forwarded, format, at: now) { return }
        let key = kind.flatMap { subscribe($0, isThin ? VideoSendFormat(codec: .av1) : format) }
        var bridge: RenditionKey?
        if let key, key != membership.active, let rendition = engine.rendition(key) {
            let change = ChangeOver(
                from: shown, to: .init(key.kind, rendition.rung), joining: ladder.joining,
                isOverloaded: engine.isOverloaded)
            // What is forwarded may have ended.
            let way = isForwarded ? .force : change.way(wait: rendition.awaitKeyframe(id, at: now), budget: budget)
            switch way {
            case .force: rendition.requestKeyframe(isUrgent: true)
            case .wait: break
            case .bridge:
                bridge = subscribe(.joining, format)
                if let bridge, bridge != membership.active {
                    _ = engine.rendition(bridge)?.awaitKeyframe(id, at: now)
                }
            }
        }
        for key in membership.choose(key, bridge: bridge) { engine.unsubscribe(id, from: key) }
    }

    // MARK: - Forwarding

    /// The picture that the peer would take as it comes; nil: the mix.
    private func pictureToForward(at now: Instant) -> ForwardedPicture? {
        let offer = engine.offered(of: view, at: now)
        let format = formats.first { $0.codec == offer?.codec && $0.packetizationMode != 0 }
        // A peer that has no picture of the view yet gets the mix first, of which it need not wait for the sender.
        let hasPicture = membership.active?.view == view && membership.active?.kind != .joining
        var rung: Int?
        if case .rung(let index) = selector.choice, !isThin { rung = index }
        let isTaken = forwarding.takes(
            isOffered: format != nil && hasPicture, rung: rung, isShared: view.viewer == nil, budget: budget,
            loss: loss, at: now)
        guard isTaken, let format, let picture = offer?.picture else { return nil }
        return ForwardedPicture(id: picture, format: format)
    }

    /// Joins the frames of a picture as they come. Until their keyframe the peer gets the rendition that its link carries.
    /// Returns whether there are such frames.
    private func forward(_ picture: ForwardedPicture, _ format: VideoSendFormat, at now: Instant) -> Bool {
        guard let key = subscribe(.forwarded(picture.id), picture.format) else { return false }
        var bridge: RenditionKey?
        if key != membership.active {
            if key != membership.pending { _ = engine.rendition(key)?.awaitKeyframe(id, at: now) }
            bridge = kind.flatMap { subscribe($0, format) }
            if let bridge, bridge != membership.active { engine.rendition(bridge)?.requestKeyframe(isUrgent: true) }
        }
        for key in membership.choose(key, bridge: bridge) { engine.unsubscribe(id, from: key) }
        return true
    }

    /// Whether the peer takes the frames of a participant as they come.
    package var isForwarded: Bool { membership.active?.kind.isForwarded == true }

    /// Whether the picture to forward is another one by now.
    func changesForwarding(at now: Instant) -> Bool { pictureToForward(at: now) != forwarded }

    // MARK: - Thin lines

    /// Whether the choice would be made in AV1 by now.
    private func isChoiceThin(at now: Instant) -> Bool {
        thinCodec.applies(
            to: selector.choice, in: ladder, isKnown: estimate != nil, isBusy: engine.savesWork, at: now)
    }

    /// Whether the choice is the same, and its codec is not: it has stood for a while, or the machine became busy.
    func changesCodec(at now: Instant) -> Bool { isChoiceThin(at: now) != isThin }

    private var kind: RenditionKind? {
        ladder.kind(of: selector.choice, hasScreen: hasScreen, isThin: isThin)
    }

    private var hasScreen: Bool { engine.hasScreen(in: view.group) }

    private var codec: VideoCodec? { isThin ? .av1 : format?.codec }

    private func subscribe(_ kind: RenditionKind, _ format: VideoSendFormat) -> RenditionKey? {
        engine.subscribe(id, view: view, format: format, kind: kind, budget: budget, loop: seatID.loop)
    }

    /// The picture of this view that the peer gets now, and that goes on.
    private var shown: ChangeOver.Source? {
        guard let active = membership.active, active.view == view,
            active.codec == format?.codec || active.codec == .av1 && thinCodec.isOffered || isForwarded
        else { return nil }
        return engine.rendition(active).map { ChangeOver.Source(active.kind, $0.rung) }
    }

    /// Returns whether a frame of that rendition goes to the peer. A keyframe of the pending rendition makes that one
    /// active.
    func accept(_ key: RenditionKey, isKeyframe: Bool, at now: Instant) -> Bool {
        // Not of a rendition that others get, nor the still to which the peer changes over.
        if key == membership.active, key.kind == .stills, selector.choice == .rareStills, !rareStills.admits(at: now) {
            return false
        }
        let (isAccepted, left) = membership.accept(key, isKeyframe: isKeyframe)
        for key in left { engine.unsubscribe(id, from: key) }
        return isAccepted
    }

    /// Repairs the picture that the peer gets. A peer that has none yet waits for a keyframe that is requested already.
    func repairPicture(for requester: KeyframeRequester, at now: Instant) {
        guard let active = membership.active else { return }
        if active.kind.isForwarded, forwarding.repaired(at: now) { return choose(at: now) }
        if active.codec == .av1, thinCodec.repaired(for: requester, loss: loss, at: now) {
            selector.configuration = configuration
            return choose(at: now)
        }
        engine.rendition(active)?.requestKeyframe(isUrgent: false)
    }

    /// Sets the profile of the peer's audio in the room, and starts sending it.
    func updateAudio() { engine.setAudio(id, profile: profile, receiverLimits: receiverLimits, to: seatID) }

    /// Stops the audio to the peer.
    func endAudio() { engine.setAudio(id, profile: profile, receiverLimits: receiverLimits, to: nil) }

    func leaveRenditions() {
        for key in membership.leave() { engine.unsubscribe(id, from: key) }
    }

    /// Chooses again after a change of the views. In another view the peer keeps the quality that its link carries.
    func refresh(at now: Instant) {
        view = engine.view(of: id)
        let old = group
        group = engine.group(of: id)
        // Nobody of another group is seen any more.
        if group != old, isForwarded { leaveRenditions() }
        let ladder = engine.ladder(of: view)
        if ladder != self.ladder {
            self.ladder = ladder
            var fresh = RenditionSelector(
                rates: ladder.rungs.map(\.bitRate), estimate: estimate, configuration: configuration)
            _ = fresh.setCeiling(selector.ceiling)
            fresh.explain(at: now)
            selector = fresh
        }
        choose(at: now)
    }

    /// Takes a new estimate of the link. Returns whether the rung changed.
    func take(estimate: BitRate, loss: Double, roundTrip: Duration, at now: Instant) -> Bool {
        self.estimate = estimate
        self.loss = loss
        self.roundTrip = roundTrip
        let wanted = AudioProfile(
            estimate: estimate, loss: loss, ownLoss: peer.ownLoss, takesCopies: peer.takesAudioCopies, previous: profile
        )
        if wanted != profile {
            profile = wanted
            peer.audioRepetition = wanted.repetition(takesCopies: peer.takesAudioCopies)
            if isConnected { updateAudio() }
        }
        selector.configuration = configuration
        let hasMoved = selector.update(estimate: estimate, at: now) != nil
        if hasMoved {
            choose(at: now)
            return true
        }
        for key in membership.all { engine.rendition(key)?.setBudget(budget ?? estimate, of: id) }
        return false
    }
}
