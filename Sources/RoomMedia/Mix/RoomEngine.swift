package import Basics
package import Codecs
import Mixing
package import Peer
package import Threads

/// The server's services that a room's media use.
package struct MediaServices: Sendable {
    /// Delivers a frame of a rendition to its members on these loops.
    package typealias Deliver = @Sendable (RenditionKey, PacketizedVideoFrame, PictureTrace, _ loops: [Int]) -> Void

    package let pool: WorkPool
    package let meters: StageMeters
    package let overload: OverloadState
    package let audio: AudioClock
    package let video: VideoClock
    package let decode: DecodeServices
    /// Called on the encoders' lanes.
    package let deliver: Deliver
    /// Takes an encoder's failure, for the log.
    package let report: @Sendable (String) -> Void

    package init(
        pool: WorkPool, meters: StageMeters, overload: OverloadState, audio: AudioClock, video: VideoClock,
        decode: DecodeServices, deliver: @escaping Deliver,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.pool = pool
        self.meters = meters
        self.overload = overload
        self.audio = audio
        self.video = video
        self.decode = decode
        self.deliver = deliver
        self.report = report
    }
}

/// One participant's intake.
package struct Intake: Sendable {
    package let video: VideoIntake
    /// What the peer sends beside its camera.
    package let screen: VideoIntake
    let inbox: AudioInbox
    package let statistics: AudioIntakeStatistics
    let audioDelay: AudioDelay
    let link: LinkGauges

    var pictures: [VideoIntake] { [video, screen] }

    /// Takes a packet of the peer, on the loop.
    package func receive(_ audio: ReceivedAudioPacket) { inbox.post(audio) }

    /// The intake of the participant's second peer, which sends the screen as its only video.
    package var ofScreenPeer: Intake {
        Intake(
            video: screen, screen: screen, inbox: AudioInbox(), statistics: statistics, audioDelay: AudioDelay(),
            link: LinkGauges())
    }
}

/// The media of one room: intakes, views with their renditions, and its share of the two clocks.
///
/// The engine runs only while a participant is connected, or the room is recorded or snapshotted: a room whose output
/// nobody takes has no canvas, no mixer and no ticks.
package final class RoomEngine: Sendable {
    package let id: String

    /// The state of a participant from which its audio can be started at any time.
    struct Person: Sendable {
        let intake: Intake
        var hearsAs: String
        var profile = AudioProfile.narrow
        var receiverLimits = OpusReceiverLimits()
        /// The connected peer.
        var seat: PeerID?
    }

    /// A user of the room's output.
    private enum User: Hashable {
        case participant(String)
        case tap(String)
        case snapshot(Int)
    }

    private struct Tap {
        /// A rendition that the tap is a member of, with its number at the gate.
        struct Source {
            var number: Int
            var key: RenditionKey
        }

        /// The view whose picture it takes.
        var view: ViewID
        var needs: TapNeeds
        let gate: TapGate
        /// The rendition that it takes, and before it the one that it takes until the other's keyframe. Empty while the
        /// view is not made.
        var sources: [Source] = []

        /// The rendition that it takes, or is about to.
        var key: RenditionKey? { sources.last?.key }
    }

    /// A tap of a group's mix alone.
    private struct AudioTap {
        var group: GroupID
        let gate: TapGate
    }

    /// A tap of what each participant of a group sends.
    private struct Tracks {
        var group: GroupID
        let tap: TrackTap
        let gate: TapGate
    }

    /// A picture that is taken for tracks.
    private struct TrackedPicture: Hashable {
        var isScreen: Bool
        /// The names of the taps.
        var taps: Set<String>
    }

    private struct State {
        var scene: Scene
        var views: [ViewID: MixView] = [:]
        /// The tiles of each view while the engine is stopped.
        var arrangements: [ViewID: Arrangement] = [:]
        var people: [String: Person] = [:]
        var users: Set<User> = []
        var snapshots = 0
        /// The views of the snapshots that wait for their picture, by their numbers.
        var snapshotViews: [Int: ViewID] = [:]
        /// By name.
        var taps: [String: Tap] = [:]
        /// How many times somebody was left out of the taps from then on.
        var cuts = 0
        /// Until when participants' pictures may have somebody who was not recorded.
        var lastUnrecorded = Instant.distantPast
        /// The scene as it leaves the room; nil while nobody is left out and no view without somebody is made.
        var outgoingScene: Scene?
        /// Those that take the mix alone, by name.
        var audioTaps: [String: AudioTap] = [:]
        /// By name; their gates have no media, and tell whether the audio thread has made all cuts.
        var trackTaps: [String: Tracks] = [:]
        /// The pictures that they take, by id.
        var trackedPictures: [String: TrackedPicture] = [:]
        var isClosed = false

        var gates: [TapGate] {
            taps.values.map(\.gate) + audioTaps.values.map(\.gate) + trackTaps.values.map(\.gate)
        }
        var isRunning: Bool { !users.isEmpty && !isClosed }

        /// The picture of a view that leaves the room.
        func outgoing(_ view: ViewID) -> ViewID { scene.hasUnrecorded ? view.outgoing(cuts) : view }

        /// The pictures that have fewer frames under overload: those beside the `main` of each group, where the room
        /// makes several, and that nothing outside the room takes.
        var sparedViews: Set<ViewID> {
            let inRoom = views.keys.filter { !$0.isOutgoing }
            let beside = inRoom.filter { $0 != .main(of: $0.group) }
            return inRoom.count > 1 ? Set(beside).subtracting(taps.values.map(\.view)) : []
        }

        mutating func noteOutgoingScene() {
            let isNeeded = scene.hasUnrecorded || views.keys.contains(where: \.isOutgoing)
            outgoingScene = isNeeded ? scene.outgoing(cuts) : nil
        }

        /// The intakes of the scene's pictures, by their ids.
        var intakes: [String: VideoIntake] {
            var intakes: [String: VideoIntake] = [:]
            for person in scene.people {
                guard let intake = people[person.sender]?.intake else { continue }
                intakes[person.id] = person.source == .screen ? intake.screen : intake.video
            }
            return intakes
        }
    }

    private let state: Guarded<State>
    private let services: MediaServices
    /// What the room's participants sent and got.
    package let quality: MediaQuality
    private let renditionCounters = RenditionCounterTable()
    private let rungs: [RoomMediaConfiguration.Rung]
    private let audio: RoomMediaConfiguration.Audio
    /// Called when the tiles of a view changed.
    private let tilesChanged: @Sendable (ViewID, TilesInfo) -> Void
    private let speakersChanged: @Sendable (GroupID, Speakers) -> Void

    package init(
        id: String, scene: Scene, rungs: [RoomMediaConfiguration.Rung], audio: RoomMediaConfiguration.Audio,
        services: MediaServices, tilesChanged: @escaping @Sendable (ViewID, TilesInfo) -> Void,
        speakersChanged: @escaping @Sendable (GroupID, Speakers) -> Void
    ) {
        self.id = id
        self.services = services
        quality = MediaQuality(addingTo: services.meters.quality)
        self.rungs = rungs
        self.audio = audio
        self.tilesChanged = tilesChanged
        self.speakersChanged = speakersChanged
        state = Guarded(State(scene: scene))
        services.audio.count(rooms: 1)
    }

    /// The bit rate of the coded audio on a good link.
    var audioBitRate: BitRate { audio.bitRate }

    // MARK: - Start and stop

    package var isRunning: Bool { state.withLock { $0.isRunning } }

    /// Adds or removes a user of the output; `body` changes the rest of the state under the same lock. The first user
    /// starts the engine, the last stops it.
    private func use(_ user: User, _ uses: Bool, _ body: (inout State) -> Void = { _ in }) {
        var (isStart, ended, intakes): (Bool, [MixView], [VideoIntake]) = (false, [], [])
        state.withLock { state in
            let wasRunning = state.isRunning
            if uses { state.users.insert(user) } else { state.users.remove(user) }
            body(&state)
            if state.isRunning, !wasRunning {
                isStart = true
                start(&state)
            } else if !state.isRunning, wasRunning {
                ended = Array(state.views.values)
                intakes = state.people.values.flatMap(\.intake.pictures)
                state.views = [:]
                for tap in state.taps.keys { state.taps[tap]?.sources = [] }
                services.video.remove(id)
                services.audio.execute { [id] in $0.remove(id) }
            }
            attachTaps(&state)
            ended += Self.endOutgoing(&state)
        }
        for view in ended { view.close() }
        for intake in intakes { intake.setShown(false) }
        // At once, not with the clock's next tick: a peer that connects sends its first picture at once.
        if isStart { tick(MonotonicClock.now()) }
    }

    /// Arranges the tiles of views that are not made, which clients are told all the same.
    private static func arrange(_ state: inout State) -> [(ViewID, TilesInfo)] {
        state.arrangements = state.arrangements.filter { id, _ in
            state.scene.views[id] != nil && state.views[id] == nil
        }
        var moved: [(ViewID, TilesInfo)] = []
        for id in state.scene.views.keys where state.views[id] == nil {
            var arrangement = state.arrangements[id] ?? Arrangement(of: id)
            let intakes = state.people.mapValues(\.intake.video)
            if arrangement.follow(state.scene, aspect: { intakes[$0]?.aspectRatio ?? 16.0 / 9 }) {
                let format = state.scene.format(of: id)
                moved.append((id, arrangement.info(width: format.width, height: format.height)))
            }
            state.arrangements[id] = arrangement
        }
        return moved
    }

    /// Called with the state locked, so that the clocks get their changes in order.
    private func start(_ state: inout State) {
        state.arrangements = [:]
        makeViews(&state)
        let (people, scene, trackTaps) = (state.people, state.scene.people, state.trackTaps)
        let taps = state.taps.mapValues { AudioTap(group: $0.view.group, gate: $0.gate) }
            .merging(state.audioTaps) { $1 }
        services.audio.execute { [id, audio, speakersChanged] rooms in
            let room = AudioRoom(configuration: audio, speakersChanged: speakersChanged)
            for (name, tap) in taps { room.tap(name, of: tap.group) { tap.gate.take($0, at: $1) } }
            for (name, tap) in trackTaps {
                room.tapVoices(name, of: tap.group, Self.voices(of: tap.tap, behind: tap.gate))
            }
            for (id, person) in people { room.seats[id] = person.audioSeat }
            room.apply(scene)
            rooms.add(id, room)
        }
    }

    /// Makes the views in use that are missing, and ticks at the rates of all.
    private func makeViews(_ state: inout State) {
        for (id, view) in state.scene.views where view.isUsed && state.views[id] == nil {
            let format = state.scene.format(of: id)
            state.views[id] = MixView(
                id: id, format: format, ladder: Ladder(rungs, format), pool: services.pool, meters: services.meters,
                overload: services.overload)
        }
        let rates = Set(state.views.values.map(\.format.framesPerSecond))
        services.video.remove(id, except: rates)
        for rate in rates {
            services.video.add(id, framesPerSecond: rate) { [weak self] tick in self?.tick(tick, rate: rate) }
        }
    }

    // MARK: - The scene

    /// Takes over who speaks; all else of the scene stays.
    package func apply(_ speech: Scene.Speech) {
        let moved = state.withLock { state -> [(ViewID, TilesInfo)] in
            if state.isClosed { return [] }
            state.scene.speech = speech
            state.noteOutgoingScene()
            return Self.arrange(&state)
        }
        for (view, tiles) in moved { tilesChanged(view, tiles) }
    }

    /// Takes over a new scene. Returns whether the format of a view changed, a view ended, or the sharing of screens
    /// began or ended, so that every peer must choose its rendition again.
    @discardableResult
    package func apply(_ scene: Scene) -> Bool {
        let (ended, reshaped, camerasChanged, moved, tracked) = state.withLock {
            state -> ([MixView], Bool, Bool, [(ViewID, TilesInfo)], [VideoIntake]) in
            let old = state.scene
            var ended: [MixView] = []
            var moved: [(ViewID, TilesInfo)] = []
            if state.isClosed { return (ended, false, false, moved, []) }
            let isCut = scene.hasUnrecorded && (!old.hasUnrecorded || scene.leavesOut(moreThan: old))
            if isCut { cutTaps(&state) }
            if old.hasUnrecorded { state.lastUnrecorded = MonotonicClock.now() }
            let reshaped = old.views.keys.contains {
                scene.views[$0] != nil && old.format(of: $0) != scene.format(of: $0)
            }
            for (id, view) in state.views
            where scene.views[id.inRoom]?.isUsed != true || view.format != scene.format(of: id.inRoom) {
                ended.append(view)
                state.views[id] = nil
                for tap in state.taps.keys { state.taps[tap]?.sources.removeAll { $0.key.view == id } }
            }
            let hasEnded = ended.contains { !$0.id.isOutgoing }
            // A stopped view's tiles are arranged anew on another canvas.
            if reshaped { state.arrangements = [:] }
            state.scene = scene
            if state.isRunning {
                makeViews(&state)
                attachTaps(&state)
                ended += Self.endOutgoing(&state)
                let gates = isCut ? state.gates : []
                services.audio.execute { [id] in
                    $0.all[id]?.apply(scene.people)
                    for gate in gates { gate.audioIsCut() }
                }
            }
            moved = Self.arrange(&state)
            for person in scene.people { state.people[person.id]?.hearsAs = person.hearsAs }
            let cover = scene.cover
            if cover != old.cover {
                for person in state.people.values {
                    for intake in person.intake.pictures {
                        intake.setCanvas(width: cover.width, height: cover.height)
                    }
                }
            }
            let choosesAgain = reshaped || hasEnded || old.groupsWithScreen != scene.groupsWithScreen
            return (ended, choosesAgain, old.senders != scene.senders, moved, Self.trackPictures(&state))
        }
        for view in ended { view.close() }
        for intake in tracked { intake.beginTrack() }
        for (view, tiles) in moved { tilesChanged(view, tiles) }
        if !ended.isEmpty || camerasChanged { updateShown() }
        return reshaped
    }

    /// The view that a participant gets.
    func view(of participant: String) -> ViewID { state.withLock { $0.scene.viewOf[participant] } ?? .main }

    /// The group of a participant.
    func group(of participant: String) -> GroupID {
        state.withLock { $0.scene.people.first { $0.id == participant }?.group } ?? .main
    }

    /// Whether somebody of a group shares a screen.
    func hasScreen(in group: GroupID = .main) -> Bool {
        state.withLock { $0.scene.groupsWithScreen.contains(group) }
    }

    func ladder(of view: ViewID) -> Ladder { Ladder(rungs, state.withLock { $0.scene.format(of: view) }) }

    /// The highest useful estimate of a link of this room: for its largest view, and at least for the largest rung.
    package var usefulRate: BitRate {
        let scene = state.withLock { $0.scene }
        let tallest = rungs.map(\.height).max() ?? scene.height
        let own = Ladder(rungs, width: tallest * 16 / 9, height: tallest, framesPerSecond: scene.framesPerSecond)
        let ladders = scene.views.keys.map { Ladder(rungs, scene.format(of: $0)) }
        return (ladders + [own]).map(\.usefulRate).max() ?? own.usefulRate
    }

    func tiles(of view: ViewID) -> TilesInfo? { state.withLock { $0.views[view] }?.tiles }
    package var allViews: [MixView] { state.withLock { Array($0.views.values) } }

    // MARK: - Participants

    package func add(
        _ participant: String, hearsAs: String, requestKeyframe: @escaping @Sendable (VideoSource) -> Void
    ) -> Intake {
        let delay = AudioDelay()
        let counters = services.decode.counters
        let pixels = SenderPixels(pixelsPerSecond: services.decode.pixelsPerSecond, at: MonotonicClock.now())
        let intake = Intake(
            video: VideoIntake(services: services.decode, pixels: pixels, audioDelay: delay, quality: quality) {
                requestKeyframe(.camera)
            },
            // A screen's delay is not the voice's. And of a screen nothing may be seen once it is not shared any more.
            screen: VideoIntake(
                services: services.decode, pixels: pixels, audioDelay: AudioDelay(), retainsPicture: false
            ) { requestKeyframe(.screen) },
            inbox: AudioInbox(counters: counters),
            statistics: AudioIntakeStatistics(counters: counters, quality: quality), audioDelay: delay,
            link: LinkGauges())
        let person = Person(intake: intake, hearsAs: hearsAs)
        state.withLock { state in
            let cover = state.scene.cover
            for intake in intake.pictures { intake.setCanvas(width: cover.width, height: cover.height) }
            if state.people.updateValue(person, forKey: participant) == nil { services.audio.count(people: 1) }
            guard state.isRunning else { return }
            let known = state.scene.people.first { $0.id == participant }
            services.audio.execute { [id] rooms in
                var seat = person.audioSeat
                if let known { seat.apply(known) }
                rooms.all[id]?.seats[participant] = seat
            }
        }
        return intake
    }

    /// Adds a participant that has no peer: its audio and its pictures come by the result.
    package func addInput(_ participant: String) -> InputIntake {
        let intake = add(participant, hearsAs: participant) { _ in }
        return InputIntake(intake, services: services.decode, at: MonotonicClock.now())
    }

    package func remove(_ participant: String) {
        var intake: Intake?
        use(.participant(participant), false) { state in
            intake = state.people.removeValue(forKey: participant)?.intake
            if intake != nil { services.audio.count(people: -1) }
            services.audio.execute { [id] in $0.all[id]?.leave(participant) }
        }
        for picture in intake?.pictures ?? [] { picture.close() }
    }

    /// What the media of each participant are like now.
    package func figures(at now: Instant) -> [ParticipantFigures] {
        let intakes = state.withLock { $0.people.values.map(\.intake) }
        return intakes.map { ParticipantFigures($0, at: now) }
    }

    package func intake(_ participant: String) -> Intake? { state.withLock { $0.people[participant]?.intake } }

    /// Sets how a participant's audio is coded, and the peer that it is sent to; nil: none.
    func setAudio(_ participant: String, profile: AudioProfile, receiverLimits: OpusReceiverLimits, to seat: PeerID?) {
        use(.participant(participant), seat != nil) { state in
            guard var person = state.people[participant] else {
                // The participant has left and may not keep the room running.
                state.users.remove(.participant(participant))
                return
            }
            (person.profile, person.receiverLimits, person.seat) = (profile, receiverLimits, seat)
            state.people[participant] = person
            services.audio.execute { [id] rooms in
                rooms.all[id]?.seats[participant]?.profile = profile
                rooms.all[id]?.seats[participant]?.receiverLimits = receiverLimits
                rooms.all[id]?.seats[participant]?.destination = seat
            }
        }
    }

    /// The loops that connected participants are on.
    var loops: Set<Int> { state.withLock { state in Set(state.people.values.compactMap { $0.seat?.loop }) } }

    // MARK: - Renditions

    /// Adds `member` to the rendition of this kind and returns the rendition's key; nil when the room does not make the
    /// view.
    func subscribe(
        _ member: String, view: ViewID, format: VideoSendFormat, kind: RenditionKind, budget: BitRate?, loop: Int
    ) -> RenditionKey? {
        guard let view = state.withLock({ $0.views[view] }) else { return nil }
        let rung = view.ladder.rung(for: kind)
        let key = RenditionKey(
            room: id, view: view.id, codec: format.codec,
            singleNAL: format.codec == .h264 && format.packetizationMode == 0,
            kind: kind)
        view.rendition(key, make: { make(key, rung, of: view.ladder) }) { $0.add(member, budget: budget, loop: loop) }
        return key
    }

    private func make(_ key: RenditionKey, _ rung: Ladder.Rung, of ladder: Ladder) -> Rendition {
        Rendition(
            key: key, rung: rung, parameterSetID: ladder.parameterSetID(for: key.kind), pool: services.pool,
            meters: services.meters,
            overload: services.overload, counters: renditionCounters[RenditionLabel(key, rung)],
            deliver: services.deliver, report: services.report)
    }

    /// Whether an overload leaves nothing for pictures that spare others' quality.
    var isOverloaded: Bool { services.overload.level >= .noTopRung }

    /// The views of which a tap takes the participants' top H.264 rendition.
    var recorded: Set<ViewID> {
        state.withLock { state in state.scene.hasUnrecorded ? [] : Set(state.taps.values.map(\.view)) }
    }

    func unsubscribe(_ member: String, from key: RenditionKey) { view(key)?.remove(member, from: key) }
    package func rendition(_ key: RenditionKey) -> Rendition? { view(key)?.rendition(key) }
    private func view(_ key: RenditionKey) -> MixView? { state.withLock { $0.views[key.view] } }

    /// Whether pictures wait to be decoded, composed or encoded. Simulations wait for them, since their clocks do not.
    package var isBusy: Bool {
        let (views, people) = state.withLock { ($0.views.values, $0.people.values) }
        return people.contains { $0.intake.pictures.contains(where: \.lane.isBusy) } || views.contains(where: \.isBusy)
    }

    // MARK: - Taps

    /// Adds a tap: `video` takes the frames of the view's top H.264 rendition on the encoder's lane, from a keyframe on,
    /// and `audio` the mix with its room time at 48 kHz, both without participants who are not recorded. There is no
    /// picture while the scene does not use the view.
    package func tap(
        _ name: String, _ view: ViewID = .main, needs: TapNeeds = TapNeeds(),
        video: @escaping @Sendable (EncodedVideoFrame) -> Void, audio: @escaping @Sendable ([Float], Int64) -> Void
    ) -> RoomTap {
        let gate = TapGate(video: video, audio: audio) { [weak self] in self?.settle(name, on: $0) }
        use(.tap(name), true) { state in
            state.taps[name] = Tap(view: view, needs: needs, gate: gate)
            services.audio.execute { [id] in $0.all[id]?.tap(name, of: view.group) { gate.take($0, at: $1) } }
        }
        return RoomTap(name, view: view, of: self)
    }

    /// Adds a tap of a group's mix alone, which needs no picture.
    package func tapAudio(
        _ name: String, of group: GroupID = .main, _ audio: @escaping @Sendable ([Float], Int64) -> Void
    ) -> RoomTap {
        let gate = TapGate(audio: audio)
        use(.tap(name), true) { state in
            state.audioTaps[name] = AudioTap(group: group, gate: gate)
            services.audio.execute { [id] in $0.all[id]?.tap(name, of: group) { gate.take($0, at: $1) } }
        }
        return RoomTap(name, view: .main, of: self)
    }

    /// Adds a tap of what each participant of a group sends, which goes on while the room runs. No picture is decoded or
    /// encoded for it.
    ///
    /// - Returns: what ends it.
    package func tapTracks(_ name: String, of group: GroupID = .main, _ tap: TrackTap) -> @Sendable () -> Void {
        let intakes = state.withLock { state -> [VideoIntake] in
            if state.isClosed { return [] }
            let gate = TapGate(audio: { _, _ in })
            state.trackTaps[name] = Tracks(group: group, tap: tap, gate: gate)
            services.audio.execute { [id] in
                $0.all[id]?.tapVoices(name, of: group, Self.voices(of: tap, behind: gate))
            }
            return Self.trackPictures(&state)
        }
        for intake in intakes { intake.beginTrack() }
        return { [weak self] in self?.endTracks(name) }
    }

    /// Nobody's audio is in a tick that began before the audio thread had made all cuts.
    private static func voices(of tap: TrackTap, behind gate: TapGate) -> @Sendable ([TrackVoice], Int64) -> Void {
        { voices, time in
            tap.voices(
                gate.isAudioCut
                    ? voices : voices.map { TrackVoice(participant: $0.participant, samples: nil, delay: $0.delay) },
                time)
        }
    }

    private func endTracks(_ name: String) {
        state.withLock { state in
            state.trackTaps[name] = nil
            services.audio.execute { [id] in $0.all[id]?.endVoicesTap(name) }
            _ = Self.trackPictures(&state)
        }
    }

    /// Gives the frames of those who may be recorded to the taps. Returns the intakes that now begin, and need a keyframe.
    private static func trackPictures(_ state: inout State) -> [VideoIntake] {
        let takers = state.trackTaps.filter { $0.value.tap.picture != nil }
        if takers.isEmpty, state.trackedPictures.isEmpty { return [] }
        var tracked: [String: TrackedPicture] = [:]
        for person in state.scene.people where person.isRecorded && person.sendsVideo {
            let names = takers.filter { $0.value.group == person.group }.keys
            if names.isEmpty { continue }
            tracked[person.id] = TrackedPicture(
                isScreen: person.source == .screen || person.isPresenting, taps: Set(names))
        }
        var beginning: [VideoIntake] = []
        for (id, person) in state.people {
            for (source, intake) in [(VideoSource.camera, person.intake.video), (.screen, person.intake.screen)] {
                let picture = source == .screen ? PictureID.screen(of: id) : id
                let now = tracked[picture]
                if now == state.trackedPictures[picture] { continue }
                guard let now else {
                    intake.setTrackTap(nil)
                    continue
                }
                let takes = now.taps.compactMap { takers[$0]?.tap.picture }
                intake.setTrackTap { [isScreen = now.isScreen] frame in
                    let picture = TrackPicture(participant: id, source: source, isScreen: isScreen, received: frame)
                    // Each of them takes the frame.
                    return takes.map { $0(picture) }.contains(true)
                }
                beginning.append(intake)
            }
        }
        state.trackedPictures = tracked
        return beginning
    }

    func endTap(_ name: String) {
        use(.tap(name), false) { state in
            let tap = state.taps.removeValue(forKey: name)
            for source in tap?.sources ?? [] { state.views[source.key.view]?.remove(name, from: source.key) }
            state.audioTaps[name] = nil
            services.audio.execute { [id] in $0.all[id]?.endTap(name) }
        }
    }

    func rendition(ofTap name: String) -> Rendition? {
        state.withLock { state in state.taps[name]?.key.flatMap { state.views[$0.view]?.rendition($0) } }
    }

    /// Ends what all taps take, at once: somebody may not be in it from now on. Called with the state locked.
    private func cutTaps(_ state: inout State) {
        state.cuts += 1
        for gate in state.gates { gate.cut() }
        for (name, tap) in state.taps {
            for source in tap.sources { state.views[source.key.view]?.remove(name, from: source.key) }
            state.taps[name]?.sources = []
        }
    }

    /// Makes each tap a member of the top rendition of the picture that leaves the room, where its view is made. Called
    /// with the state locked.
    private func attachTaps(_ state: inout State) {
        makeOutgoing(&state)
        for (name, tap) in state.taps {
            let wanted = state.outgoing(tap.view)
            guard tap.key?.view != wanted, let view = state.views[wanted], let rung = view.ladder.rungs.first else {
                continue
            }
            let key = RenditionKey(room: id, view: view.id, codec: .h264, singleNAL: false, kind: .rung(0))
            let floor = wanted.isOutgoing ? Int64.min : state.lastUnrecorded.ticks(at: 90_000)
            let number = tap.gate.begin(after: floor)
            view.rendition(key, make: { make(key, rung, of: view.ladder) }) { rendition in
                rendition.tap(name, needs: tap.needs) { [gate = tap.gate, weak rendition] frame in
                    if gate.take(frame, from: number) { rendition?.requestKeyframe(isUrgent: true) }
                }
            }
            state.taps[name]?.sources.append(Tap.Source(number: number, key: key))
        }
    }

    /// Makes the pictures without the participants who are not recorded, of the views that a tap or a snapshot takes.
    private func makeOutgoing(_ state: inout State) {
        let taken = Set(state.taps.values.map(\.view)).union(state.snapshotViews.values)
        for view in taken where state.scene.hasUnrecorded {
            let id = state.outgoing(view)
            guard let inRoom = state.views[view], state.views[id] == nil else { continue }
            state.views[id] = MixView(
                id: id, format: inRoom.format, ladder: inRoom.ladder, pool: services.pool, meters: services.meters,
                overload: services.overload)
        }
        state.noteOutgoingScene()
    }

    /// Takes out the pictures without participants that nothing takes any more. Called with the state locked.
    private static func endOutgoing(_ state: inout State) -> [MixView] {
        var taken = Set(state.taps.values.flatMap { $0.sources.map(\.key.view) })
        taken.formUnion(state.snapshotViews.values.map { state.outgoing($0) })
        let over = state.views.keys.filter { $0.isOutgoing && !taken.contains($0) }
        defer { state.noteOutgoingScene() }
        return over.compactMap { state.views.removeValue(forKey: $0) }
    }

    /// Ends what a tap took before a source, whose frames it gets now.
    private func settle(_ name: String, on number: Int) {
        let ended: [MixView] = state.withLock { state in
            guard let sources = state.taps[name]?.sources,
                let index = sources.firstIndex(where: { $0.number == number }), index > 0
            else { return [] }
            for source in sources[..<index] { state.views[source.key.view]?.remove(name, from: source.key) }
            state.taps[name]?.sources.removeFirst(index)
            return Self.endOutgoing(&state)
        }
        for view in ended { view.close() }
    }

    // MARK: - Ticks

    /// - Parameter rate: only the views of this frame rate; nil: all.
    private func tick(_ tick: Instant, rate: Int? = nil) {
        let (scene, outgoing, views, intakes, spared) = state.withLock {
            ($0.scene, $0.outgoingScene, $0.views, $0.intakes, $0.sparedViews)
        }
        for (id, view) in views where rate.map({ view.format.framesPerSecond == $0 }) ?? true {
            if let rate, spared.contains(id), services.overload.leavesOut(tick, framesPerSecond: rate) { continue }
            guard let scene = id.isOutgoing ? outgoing : scene else { continue }
            view.tick(tick, scene: scene, intakes: intakes) { [weak self, weak view] in
                guard let self, let view else { return }
                updateShown()
                if !id.isOutgoing { tilesChanged(id, view.tiles) }
            }
        }
    }

    /// See `OverloadState.leavesOut`.
    var sparedViews: Set<ViewID> { state.withLock { $0.sparedViews } }

    /// Turns decoding on for the participants who have a tile in some view and the camera on, and off for all others.
    private func updateShown() {
        let (views, people, intakes, inRoom, outgoing) = state.withLock {
            ($0.views, $0.people, $0.intakes, $0.scene.senders, $0.outgoingScene?.senders ?? [])
        }
        var shown: Set<ObjectIdentifier> = []
        for view in views.values {
            let senders = view.id.isOutgoing ? outgoing : inRoom
            for tile in view.tiles.tiles where senders.contains(tile.picture) {
                if let intake = intakes[tile.picture] { shown.insert(ObjectIdentifier(intake)) }
            }
        }
        for person in people.values {
            for intake in person.intake.pictures { intake.setShown(shown.contains(ObjectIdentifier(intake))) }
        }
    }

    /// Passes the picture of the view's next tick to `body`, without participants who are not recorded; the engine runs
    /// until then. Returns a closure that cancels the wait. The scene must use the view.
    package func snapshot(of view: ViewID = .main, _ body: @escaping @Sendable (Picture) -> Void)
        -> @Sendable () -> Void
    {
        let number = state.withLock { state in
            state.snapshots += 1
            return state.snapshots
        }
        use(.snapshot(number), true) { $0.snapshotViews[number] = view }
        let end: @Sendable () -> Void = { [weak self] in
            self?.use(.snapshot(number), false) { $0.snapshotViews[number] = nil }
        }
        state.withLock { state in state.views[state.outgoing(view)] }?.snapshot { picture in
            body(picture)
            end()
        }
        return end
    }

    package func close() {
        let (views, intakes) = state.withLock { state in
            if !state.isClosed { services.audio.count(rooms: -1, people: -state.people.count) }
            state.isClosed = true
            services.video.remove(id)
            services.audio.execute { [id] in $0.remove(id) }
            defer {
                state.views = [:]
                state.people = [:]
                state.users = []
            }
            return (state.views, state.people)
        }
        for view in views.values { view.close() }
        for person in intakes.values { for picture in person.intake.pictures { picture.close() } }
    }
}

extension RoomEngine.Person {
    var audioSeat: AudioRoom.Seat {
        var seat = AudioRoom.Seat(
            intake: AudioIntake(inbox: intake.inbox, statistics: intake.statistics, audioDelay: intake.audioDelay),
            hearsAs: hearsAs)
        (seat.profile, seat.receiverLimits, seat.destination) = (profile, receiverLimits, self.seat)
        return seat
    }
}
