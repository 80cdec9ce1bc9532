import Basics
import Peer
import RoomMedia
import Simulation

/// One participant of a simulated room: a server peer and a client peer over a link of their own, with audio and video
/// playout at both ends.
final class SimulatedMember {
    /// The state at one time.
    struct Sample {
        var at: Instant
        var choice: RenditionSelector.Choice
        var estimate: BitRate
        /// The waiting data in the link's queue, and in the pacer before it.
        var linkQueue: Duration
        var pacerQueue: Duration
        var deliveredBytes: Int
    }

    /// The highest rate of a client's camera, whatever the server allows.
    static let camera = (width: 640, height: 360, framesPerSecond: 30)
    static let roomAudio = BitRate.kilobits(32)
    /// Opus TOC bytes of packets of 1, 2 and 3 ticks: SILK wide band 20, 40 and 60 ms (RFC 6716 §3.1).
    private static let packetTypes: [UInt8] = [9 << 3, 10 << 3, 11 << 3]

    let id: String
    let call: SimulatedCall
    private(set) var selector: RenditionSelector
    private(set) var profile = AudioProfile.narrow
    private let ladder: Ladder
    private var membership = RenditionMembership<RenditionKind>()
    private var rareStills = RareStills()
    private(set) var isConnected = false
    private(set) var connectedAt: Instant?
    /// The playout of the client.
    private(set) var pictureSink = PictureSink()
    private(set) var audioSink = AudioSink()
    /// The playout of the server.
    private(set) var tileView = TileView()
    private(set) var serverAudioSink = AudioSink()
    private(set) var samples: [Sample] = []
    private(set) var moves: [(at: Instant, change: RenditionSelector.Change)] = []
    /// The keyframes that the server sent to the member.
    private(set) var keyframesSent: [(at: Instant, kind: RenditionKind)] = []
    private(set) var keyframesAsked = 0
    private(set) var keyframesAskedUp = 0
    var loss: Double = 0
    private var camera: SyntheticEncoder?
    private var clientProfile = AudioProfile.lossy
    private var cameraWantsKeyframe = true
    private var cameraLimit: BitRate

    /// - Parameter sendsPicture: whether the client sends video, at most at the bit rate of its tile.
    init(id: String, call: SimulatedCall, ladder: Ladder, sendsPicture limit: BitRate?, seed: UInt64) {
        self.id = id
        self.call = call
        self.ladder = ladder
        selector = RenditionSelector(rates: ladder.rungs.map(\.bitRate))
        cameraLimit = limit ?? .zero
        if let limit {
            camera = SyntheticEncoder(
                width: Self.camera.width, height: Self.camera.height, framesPerSecond: Self.camera.framesPerSecond,
                temporalLayers: 1,
                rate: limit, tag: 0, seed: seed)
        }
        call.collectsEvents = false
        call.tick = .milliseconds(20)
    }

    // MARK: - Events of the peers

    func attach(to room: SimulatedRoom) {
        call.onEvent = { [unowned self, unowned room] call, side, event in
            switch side {
            case .client: handleClient(event, at: call.now)
            case .server: serverSaid(event, room: room, at: call.now)
            }
        }
        call.onTick = { [unowned self] call, now in
            audioSink.pull(at: now)
            audioSink.wait(forPictureDelay: pictureSink.delay)
            serverAudioSink.pull(at: now)
            serverAudioSink.wait(for: tileView.wait, at: now)
        }
    }

    private func handleClient(_ event: PeerEvent, at now: Instant) {
        switch event {
        case .video(let frame): pictureSink.receive(frame, audioDelay: audioSink.delay, at: now)
        case .audio(let packet): audioSink.receive(packet)
        case .keyframeRequested:
            cameraWantsKeyframe = true
            keyframesAskedUp += 1
        default: break
        }
    }

    private func serverSaid(_ event: PeerEvent, room: SimulatedRoom, at now: Instant) {
        switch event {
        case .connected, .recovered:
            if connectedAt == nil { connectedAt = now }
            isConnected = true
            if camera != nil { call.server.setReceiveLimit(cameraLimit, at: now) }
            choose(in: room)
        case .interrupted:
            isConnected = false
            for kind in membership.leave() { room.leave(id, kind) }
        case .estimate(let estimate, let loss, _):
            take(estimate, loss: loss, room: room, at: now)
        case .keyframeRequested:
            keyframesAsked += 1
            if let kind = membership.active { room.requestKeyframe(kind, isUrgent: false) }
        case .video(let frame): tileView.receive(frame)
        case .audio(let packet): serverAudioSink.receive(packet)
        default: break
        }
    }

    private var budget: BitRate? {
        guard isConnected else { return nil }
        return profile.videoBudget(
            of: call.server.estimate, loss: loss, roomRate: Self.roomAudio,
            takesCopies: call.server.takesAudioCopies)
    }

    private func take(_ estimate: BitRate, loss: Double, room: SimulatedRoom, at now: Instant) {
        self.loss = loss
        let takesCopies = call.server.takesAudioCopies
        profile = AudioProfile(
            estimate: estimate, loss: loss, ownLoss: call.server.ownLoss, takesCopies: takesCopies,
            previous: profile)
        call.server.audioRepetition = profile.repetition(takesCopies: takesCopies)
        selector.configuration.follow(
            loss: loss, extraAudio: profile.extraRate(Self.roomAudio, takesCopies: takesCopies))
        if let change = selector.update(estimate: estimate, at: now) {
            moves.append((now, change))
            choose(in: room)
        } else {
            for kind in membership.all { if let budget { room.setBudget(budget, of: id, kind) } }
        }
    }

    // MARK: - Renditions

    /// Joins the selected rendition; the earlier one, or the joining rendition, continues until the new one's keyframe.
    private func choose(in room: SimulatedRoom) {
        guard isConnected else { return }
        let kind = ladder.kind(of: selector.choice, hasScreen: false)
        var bridge: RenditionKind?
        if let kind {
            room.join(id, kind, budget: budget)
            if kind != membership.active { bridge = change(to: kind, in: room) }
        }
        for kind in membership.choose(kind, bridge: bridge) { room.leave(id, kind) }
    }

    private func change(to kind: RenditionKind, in room: SimulatedRoom) -> RenditionKind? {
        let shown = membership.active.map { ChangeOver.Source($0, ladder.rung(for: $0)) }
        let change = ChangeOver(
            from: shown, to: .init(kind, ladder.rung(for: kind)), joining: ladder.joining, isOverloaded: false)
        switch change.way(wait: room.awaitKeyframe(id, kind), budget: budget) {
        case .force:
            room.requestKeyframe(kind, isUrgent: true)
            return nil
        case .wait: return nil
        case .bridge:
            room.join(id, .joining, budget: budget)
            if membership.active != .joining { _ = room.awaitKeyframe(id, .joining) }
            return .joining
        }
    }

    /// Sends a frame of a rendition, if the member receives that rendition.
    func offer(_ frame: PacketizedVideoFrame, of kind: RenditionKind, room: SimulatedRoom, at now: Instant) {
        if kind == membership.active, kind == .stills, selector.choice == .rareStills, !rareStills.admits(at: now) {
            return
        }
        let (takes, left) = membership.accept(kind, isKeyframe: frame.isKeyframe)
        for kind in left { room.leave(id, kind) }
        guard takes else { return }
        if frame.isKeyframe { keyframesSent.append((now, kind)) }
        call.server.send(frame, at: now)
    }

    // MARK: - Ticks

    /// Sends audio in both directions; `tick` counts 20 ms.
    func sendAudio(tick: Int, at now: Instant) {
        guard isConnected else { return }
        if let (payload, start) = Self.sound(profile, tick: tick, at: now) {
            call.server.send(audio: payload, timestamp: start.ticks(at: 48_000), marker: false, level: nil, at: now)
        }
        // The web client controls its encoder by the same rules; FEC is always on, as the server requests it.
        clientProfile = AudioProfile(estimate: call.client.estimate, loss: 0.1, previous: clientProfile)
        if let (payload, start) = Self.sound(clientProfile, tick: tick, at: now) {
            call.client.send(audio: payload, timestamp: start.ticks(at: 48_000), marker: false, level: 30, at: now)
        }
    }

    private static func sound(_ profile: AudioProfile, tick: Int, at now: Instant) -> (
        payload: [UInt8], start: Instant
    )? {
        let ticks = profile.ticksPerPacket
        guard tick % ticks == 0 else { return nil }
        let start = now - .milliseconds(20) * (ticks - 1)
        let bytes = profile.bitRate(roomAudio).bytes(in: .milliseconds(20) * ticks)
        return (packet(toc: packetTypes[ticks - 1], bytes: bytes, carriesFEC: profile.carriesFEC, made: start), start)
    }

    private static func packet(toc: UInt8, bytes: Int, carriesFEC: Bool, made: Instant) -> [UInt8] {
        // The voice activity bits, and after them whether the packet has a copy of the one before (RFC 6716 §4.2.3).
        var payload = [toc, carriesFEC ? 0xF0 : 0x80]
        MediaMark(made: made, tag: carriesFEC ? 1 : 0).write(to: &payload)
        payload += [UInt8](repeating: 0x33, count: max(0, bytes - payload.count))
        return payload
    }

    /// Sends a frame of the client's camera, with a browser's encoder that follows its own estimate and the server's
    /// limit.
    func sendCamera(at now: Instant) {
        guard isConnected, call.client.isConnected, camera != nil else { return }
        let rate = min(
            cameraLimit, max((call.client.estimate - clientProfile.linkRate(Self.roomAudio)) * 0.92, .kilobits(10)))
        camera?.rate = rate
        guard let frame = camera?.frame(at: now, isKeyframe: cameraWantsKeyframe) else { return }
        cameraWantsKeyframe = false
        call.client.send(frame, at: now)
    }

    /// Handles a tick of the room's canvas, which shows the client's video.
    func compose(at now: Instant) { tileView.tick(at: now, audioSink: serverAudioSink) }

    func sample(at now: Instant) {
        samples.append(
            Sample(
                at: now, choice: selector.choice, estimate: call.server.estimate,
                linkQueue: call.down.queueDelay(at: now),
                pacerQueue: call.server.statistics(at: now).pacerQueue, deliveredBytes: call.down.deliveredBytes))
    }
}
