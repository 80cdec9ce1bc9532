import Basics
import Codecs
import Mixing
import Peer
import Synchronization

/// What all rooms' media share.
struct MediaServices: Sendable {
    let pool: WorkPool
    let meters: StageMeters
    let overload: OverloadState
    let audio: AudioClock
    let video: VideoClock
    /// From the encoders' lanes to the loop.
    let deliver: @Sendable (RenditionKey, PacketizedVideoFrame, PictureTrace) -> Void
    let report: @Sendable (String) -> Void
}

/// One participant's way in.
struct Intake: Sendable {
    let video: VideoIntake
    let inbox: AudioInbox
    let figures: AudioFigures
    let soundDelay: SoundDelay
}

/// The media of one room: intakes, views with their renditions, and its share of the two clocks.
final class RoomEngine: Sendable {
    let id: String

    private struct State {
        var scene: Scene
        var views: [ViewID: MixView] = [:]
        var intakes: [String: Intake] = [:]
        var isRecorded = false
        var isClosed = false
    }

    private let state: Mutex<State>
    private let services: MediaServices
    private let rungs: [ConferenceConfiguration.Rung]
    /// Of the coded sound on a good line.
    let audioBitRate: BitRate
    /// The tiles of a view changed: who is shown, and how large.
    private let tilesChanged: @Sendable (ViewID, TilesInfo) -> Void

    init(
        id: String, scene: Scene, rungs: [ConferenceConfiguration.Rung], audio: ConferenceConfiguration.Audio,
        services: MediaServices, tilesChanged: @escaping @Sendable (ViewID, TilesInfo) -> Void,
        speakersChanged: @escaping @Sendable (Speakers) -> Void
    ) {
        self.id = id
        self.services = services
        self.rungs = rungs
        self.tilesChanged = tilesChanged
        audioBitRate = audio.bitRate
        state = Mutex(State(scene: scene))
        services.audio.execute { $0.add(id, AudioRoom(configuration: audio, speakersChanged: speakersChanged)) }
        apply(scene)
        startTicking(scene.framesPerSecond)
    }

    private func startTicking(_ framesPerSecond: Int) {
        services.video.add(id, framesPerSecond: framesPerSecond) { [weak self] tick in self?.tick(tick) }
    }

    // MARK: - What the room is like

    /// Takes over a new state of the room. Returns whether its renditions are others now, so that every peer must choose again.
    @discardableResult
    func apply(_ scene: Scene) -> Bool {
        let (ended, reshaped, rateChanged, camerasChanged, people) = state.withLock { state in
            let old = state.scene
            let reshaped =
                old.width != scene.width || old.height != scene.height || old.framesPerSecond != scene.framesPerSecond
            let rateChanged = old.framesPerSecond != scene.framesPerSecond
            var ended: [MixView] = []
            if state.isClosed { return (ended, false, false, false, [Scene.Person]()) }
            for (id, view) in state.views where reshaped || scene.views[id] == nil {
                ended.append(view)
                state.views[id] = nil
            }
            let ladder = Ladder(
                rungs, width: scene.width, height: scene.height, framesPerSecond: scene.framesPerSecond)
            for id in scene.views.keys where state.views[id] == nil {
                state.views[id] = MixView(
                    id: id, width: scene.width, height: scene.height, ladder: ladder, pool: services.pool,
                    meters: services.meters, overload: services.overload)
            }
            state.scene = scene
            let camerasChanged = old.senders != scene.senders
            return (ended, reshaped || !ended.isEmpty, rateChanged, camerasChanged, scene.people)
        }
        for view in ended { view.close() }
        if rateChanged { startTicking(scene.framesPerSecond) }
        services.audio.execute { [id] rooms in
            guard let room = rooms.all[id] else { return }
            for person in people {
                room.seats[person.id]?.gain = person.gain
                room.seats[person.id]?.isHeard = person.sendsAudio
                room.seats[person.id]?.hearsAs = person.hearsAs
            }
        }
        if !ended.isEmpty || camerasChanged { updateShown() }
        return reshaped
    }

    var ladder: Ladder {
        let scene = state.withLock { $0.scene }
        return Ladder(rungs, width: scene.width, height: scene.height, framesPerSecond: scene.framesPerSecond)
    }

    func tiles(of view: ViewID) -> TilesInfo? { state.withLock { $0.views[view] }?.tiles }
    var allViews: [MixView] { state.withLock { Array($0.views.values) } }

    // MARK: - Who is there

    func add(_ participant: String, hearsAs: String, requestKeyframe: @escaping @Sendable () -> Void) -> Intake {
        let delay = SoundDelay()
        let intake = Intake(
            video: VideoIntake(
                pool: services.pool, meter: services.meters.decode, soundDelay: delay, requestKeyframe: requestKeyframe),
            inbox: AudioInbox(), figures: AudioFigures(), soundDelay: delay)
        state.withLock { $0.intakes[participant] = intake }
        services.audio.execute { [id] rooms in
            rooms.all[id]?.seats[participant] = AudioRoom.Seat(
                intake: AudioIntake(inbox: intake.inbox, figures: intake.figures, soundDelay: delay), hearsAs: hearsAs)
        }
        return intake
    }

    func remove(_ participant: String) {
        let intake = state.withLock { $0.intakes.removeValue(forKey: participant) }
        intake?.video.close()
        services.audio.execute { [id] in $0.all[id]?.leave(participant) }
    }

    func intake(_ participant: String) -> Intake? { state.withLock { $0.intakes[participant] } }

    /// How a participant's sound is coded, and whether it gets any.
    func setAudio(_ participant: String, profile: AudioProfile, wishes: SoundWishes, isConnected: Bool) {
        services.audio.execute { [id] rooms in
            rooms.all[id]?.seats[participant]?.profile = profile
            rooms.all[id]?.seats[participant]?.wishes = wishes
            rooms.all[id]?.seats[participant]?.isConnected = isConnected
        }
    }

    // MARK: - Renditions

    /// Makes `member` one of those who take this rendition; nil when it is sound alone. The view is the member's own where it has one.
    func subscribe(
        _ member: String, view: ViewID, format: VideoSendFormat, choice: RenditionSelector.Choice, budget: BitRate?
    ) -> RenditionKey? {
        let found = state.withLock { state in state.views[view].map { (view, $0) } ?? state.views[.room].map { (.room, $0) } }
        guard let (viewID, view) = found, let rung = view.ladder.rung(for: choice) else { return nil }
        let key = RenditionKey(
            room: id, view: viewID, codec: format.codec, singleNAL: format.codec == .h264 && format.packetizationMode == 0,
            choice: choice)
        view.rendition(key, make: { make(key, rung, of: view.ladder) }) { $0.add(member, budget: budget) }
        return key
    }

    private func make(_ key: RenditionKey, _ rung: Ladder.Rung, of ladder: Ladder) -> Rendition {
        Rendition(
            key: key, rung: rung, parameterSetID: ladder.parameterSetID(for: key.choice), pool: services.pool, meters: services.meters,
            overload: services.overload, deliver: services.deliver, report: services.report)
    }

    /// A recording takes the top H.264 rendition.
    var isRecorded: Bool { state.withLock { $0.isRecorded } }

    func unsubscribe(_ member: String, from key: RenditionKey) { view(key)?.remove(member, from: key) }
    func rendition(_ key: RenditionKey) -> Rendition? { view(key)?.rendition(key) }
    private func view(_ key: RenditionKey) -> MixView? { state.withLock { $0.views[key.view] } }

    /// Takes the room's top H.264 rendition as it is, which is kept alive for that.
    func record(
        _ member: String, video: @escaping @Sendable (EncodedVideoFrame) -> Void,
        audio: @escaping @Sendable ([Float], Int64) -> Void
    ) -> (key: RenditionKey, rung: Ladder.Rung)? {
        guard let view = state.withLock({ $0.views[.room] }), let rung = view.ladder.rungs.first else { return nil }
        let key = RenditionKey(room: id, view: .room, codec: .h264, singleNAL: false, choice: .rung(0))
        view.rendition(key, make: { make(key, rung, of: view.ladder) }) { $0.tap(member, video) }
        state.withLock { $0.isRecorded = true }
        services.audio.execute { [id] in $0.all[id]?.recorder = audio }
        return (key, rung)
    }

    func endRecording(_ member: String, _ key: RenditionKey) {
        services.audio.execute { [id] in $0.all[id]?.recorder = nil }
        state.withLock { $0.isRecorded = false }
        unsubscribe(member, from: key)
    }

    // MARK: - Ticks

    private func tick(_ tick: Instant) {
        let (scene, views, intakes) = state.withLock { ($0.scene, $0.views, $0.intakes.mapValues(\.video)) }
        for (id, view) in views {
            view.tick(tick, scene: scene, intakes: intakes) { [weak self, weak view] in
                guard let self, let view else { return }
                updateShown()
                tilesChanged(id, view.tiles)
            }
        }
    }

    /// Only who has a tile somewhere, and the camera on, is decoded.
    private func updateShown() {
        let (views, intakes, senders) = state.withLock { ($0.views, $0.intakes, $0.scene.senders) }
        var shown: Set<String> = []
        for view in views.values { for tile in view.tiles.tiles { shown.insert(tile.participant) } }
        for (id, intake) in intakes { intake.video.setShown(shown.contains(id) && senders.contains(id)) }
    }

    /// The composite of the next tick.
    func snapshot(_ body: @escaping @Sendable (Picture) -> Void) {
        state.withLock { $0.views[.room] }?.snapshot(body)
    }

    func close() {
        services.video.remove(id)
        services.audio.execute { [id] in $0.remove(id) }
        let (views, intakes) = state.withLock { state in
            state.isClosed = true
            defer {
                state.views = [:]
                state.intakes = [:]
            }
            return (state.views, state.intakes)
        }
        for view in views.values { view.close() }
        for intake in intakes.values { intake.video.close() }
    }
}
