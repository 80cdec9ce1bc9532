import Basics
import Peer

/// One participant's peer connection and what it takes of the room. Lives on the loop.
package final class HostedPeer {
    let id: String
    let seatID: SeatID
    package let peer: PeerConnection
    let engine: RoomEngine
    let intake: Intake
    let opensChannels: [String]

    var view: ViewID
    /// What the peer's decoder takes; nil before an offer, or when it takes no video.
    var format: VideoSendFormat?
    var selector: RenditionSelector
    var ladder: Ladder
    private var membership = RenditionMembership<RenditionKey>()
    /// What it gets now, and what it will get.
    var active: RenditionKey? { membership.active }
    var pending: RenditionKey? { membership.pending }
    /// A keyframe has gone out to it.
    var hasPicture: Bool { active != nil }
    package var reason = LinkReason.none
    /// Until something is known of the line: a thin one must bear it beside the first probe.
    var profile = AudioProfile.narrow
    /// What the peer's description asks of its sound.
    var wishes: OpusReceiverLimits {
        peer.opusParameters.map { OpusReceiverLimits($0, roomRate: engine.audioBitRate) } ?? OpusReceiverLimits()
    }
    var estimate: BitRate?
    var loss = 0.0
    var roundTrip = Duration.zero
    package var isConnected = false
    var isDirty = false
    /// What it may cost the loop, and what it cost in this turn.
    package var loopBudget: LoopBudget
    var spent = Duration.zero
    /// Other loops to which datagrams of its flows came.
    var readers: Set<Int> = []
    /// Its data channel messages go to the others of the room.
    var mayTalk: Bool
    /// Open data channels by label: the ones that the peer opened and ours.
    var channels: [String: (theirs: ChannelID?, ours: ChannelID?)] = [:]
    /// The frames that the peer's pacer has not let go of yet.
    var leaving: [PictureTrace] = []
    /// Of the last second's line report.
    var lastBytes: (sent: Int, received: Int) = (0, 0)
    var lastFaults = PeerFaults()
    var lastLink: LinkState?
    /// Video frames up to the last report, and how many a second came and went before it.
    var lastFrames: (sent: Int, received: Int) = (0, 0)
    package var frameRates: (sent: Double, received: Double) = (0, 0)

    package init(
        id: String, seatID: SeatID, peer: PeerConnection, engine: RoomEngine, intake: Intake, view: ViewID,
        opensChannels: [String],
        mayTalk: Bool = true, loopBudget: LoopBudget
    ) {
        self.mayTalk = mayTalk
        self.loopBudget = loopBudget
        self.id = id
        self.seatID = seatID
        self.peer = peer
        self.engine = engine
        self.intake = intake
        self.view = view
        self.opensChannels = opensChannels
        ladder = engine.ladder
        selector = RenditionSelector(rates: ladder.rungs.map(\.bitRate))
    }

    /// The highest rung that it may have while an overload takes the rungs above `limit` away.
    func ceiling(_ limit: Int) -> Int {
        Self.sharesRecording(isRecorded: engine.isRecorded, view: view, format: format) ? 0 : limit
    }

    /// A recording keeps its encoder of the top rung running, overload or not. Who takes those very frames costs
    /// nothing; moved down, it would only start an encoder more.
    static func sharesRecording(isRecorded: Bool, view: ViewID, format: VideoSendFormat?) -> Bool {
        isRecorded && view == .room && format?.codec == .h264 && format?.packetizationMode != 0
    }

    /// The height of the picture that it gets; 0: sound, with a picture every few seconds or none.
    package var rungHeight: Int {
        if case .rung = selector.choice, format != nil { return ladder.rung(for: selector.choice)?.height ?? 0 }
        return 0
    }

    /// Notes a frame that is on its way out. A line that holds up many of them says nothing about the server.
    func follow(_ trace: PictureTrace) {
        if leaving.count < 4 { leaving.append(trace) }
    }

    private var budget: BitRate? {
        estimate.map { profile.videoBudget(of: $0, loss: loss, roomRate: engine.audioBitRate) }
    }

    /// Joins the rendition of its choice. What it had goes on until the new one's keyframe is there.
    func choose() {
        guard isConnected, let format else { return leaveRenditions() }
        let key = engine.subscribe(
            id, view: view, format: format, choice: selector.choice, budget: budget, loop: seatID.loop)
        let (left, awaited) = membership.choose(key)
        for key in left { engine.unsubscribe(id, from: key) }
        if let awaited { engine.rendition(awaited)?.requestKeyframe() }
    }

    /// Whether a frame of that rendition goes to the peer; takes the step to a new rendition at its keyframe.
    func takes(_ key: RenditionKey, isKeyframe: Bool) -> Bool {
        let (takes, left) = membership.takes(key, isKeyframe: isKeyframe)
        if let left { engine.unsubscribe(id, from: left) }
        return takes
    }

    /// Tells the room how its sound is to be coded, and that it gets some.
    func updateAudio() { engine.setAudio(id, profile: profile, wishes: wishes, to: seatID) }

    /// It gets no sound any more.
    func endAudio() { engine.setAudio(id, profile: profile, wishes: wishes, to: nil) }

    func leaveRenditions() {
        for key in membership.leave() { engine.unsubscribe(id, from: key) }
    }

    /// The canvas, the ladder or the views changed.
    func refresh(view: ViewID) {
        self.view = view
        if ladder != engine.ladder {
            ladder = engine.ladder
            var fresh = RenditionSelector(rates: ladder.rungs.map(\.bitRate))
            _ = fresh.setCeiling(selector.ceiling)
            selector = fresh
        }
        choose()
    }

    /// A new estimate. Returns whether the rung changed.
    func take(estimate: BitRate, loss: Double, roundTrip: Duration, at now: Instant) -> Bool {
        self.estimate = estimate
        self.loss = loss
        self.roundTrip = roundTrip
        let wanted = AudioProfile(estimate: estimate, loss: loss, canRepeat: peer.canRepeatAudio, previous: profile)
        if wanted != profile {
            profile = wanted
            peer.repeatsAudio = wanted.repeats
            if isConnected { updateAudio() }
        }
        if let change = selector.update(estimate: estimate, at: now) {
            reason = change.reason
            choose()
            return true
        }
        for key in membership.all { engine.rendition(key)?.setBudget(budget ?? estimate, of: id) }
        return false
    }
}
