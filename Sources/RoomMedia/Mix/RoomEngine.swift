package import Basics
import Codecs
import Mixing
import Peer
import Threads

/// The media of one room: intakes, views with their renditions, and its share of the two clocks.
///
/// The engine runs only while a participant is connected, or the room is recorded or snapshotted: a room whose output
/// nobody takes has no canvas, no mixer and no ticks.
package final class RoomEngine: Sendable {
    package let id: String

    let state: Guarded<State>
    let services: MediaServices
    /// What the room's participants sent and got.
    package let quality: MediaQuality
    private let renditionCounters = RenditionCounterTable()
    /// Of each forwarded picture, what the members of each of its renditions may get.
    private let forwardLimits = Guarded<[String: [ObjectIdentifier: BitRate]]>([:])
    private let rungs: [RoomMediaConfiguration.Rung]
    private let audio: RoomMediaConfiguration.Audio
    /// Called when the tiles of a view changed.
    private let tilesChanged: @Sendable (ViewID, TilesInfo) -> Void
    private let speakersChanged: @Sendable (GroupID, Speakers) -> Void
    /// The longest time that frames of a view go on that is not made any more.
    private static let lingerTime = Duration.milliseconds(1500)

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
    func use(_ user: User, _ uses: Bool, _ body: (inout State) -> Void = { _ in }) {
        var (isStart, ended, intakes): (Bool, [MixView], [VideoIntake]) = (false, [], [])
        state.withLock { state in
            let wasRunning = state.isRunning
            if uses { state.users.insert(user) } else { state.users.remove(user) }
            body(&state)
            if state.isRunning, !wasRunning {
                isStart = true
                start(&state)
            } else if !state.isRunning, wasRunning {
                ended = Array(state.views.values) + state.lingering.map(\.view)
                state.lingering = []
                intakes = state.people.values.flatMap(\.intake.pictures)
                state.views = [:]
                state.taps.forgetSources()
                services.video.remove(id)
                services.audio.execute { [id] in $0.remove(id) }
            }
            attachTaps(&state)
            ended += state.endOutgoing()
        }
        for view in ended { view.close() }
        for intake in intakes { intake.setShown(false) }
        // At once, not with the clock's next tick: a peer that connects sends its first picture at once.
        if isStart { tick(services.now()) }
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
        let (people, scene, taps) = (state.people, state.scene.people, state.taps)
        services.audio.execute { [id, audio, speakersChanged] rooms in
            let room = AudioRoom(configuration: audio, speakersChanged: speakersChanged)
            taps.attach(to: room)
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
                overload: services.overload, now: services.now)
        }
        let rates = Set(state.views.values.map(\.format.framesPerSecond))
        services.video.remove(id, except: rates)
        for rate in rates {
            services.video.add(id, framesPerSecond: rate) { [weak self] tick in self?.tick(tick, rate: rate) }
        }
    }

    /// Makes each tap a member of the picture that leaves the room. Called with the state locked.
    private func attachTaps(_ state: inout State) {
        makeOutgoing(&state)
        state.taps.attach(in: id, state.scene, to: state.views) { make($0, $1, of: $2) }
    }

    /// Makes the pictures without the participants who are not recorded, of the views that a tap or a snapshot takes.
    private func makeOutgoing(_ state: inout State) {
        for view in Set(state.taps.views + state.snapshotViews.values) where state.scene.hasUnrecorded {
            let id = state.taps.outgoing(view, of: state.scene)
            guard let inRoom = state.views[view], state.views[id] == nil else { continue }
            state.views[id] = MixView(
                id: id, format: inRoom.format, ladder: inRoom.ladder, pool: services.pool, meters: services.meters,
                overload: services.overload, now: services.now)
        }
        state.noteOutgoingScene()
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
            if isCut { state.taps.cut(in: state.views) }
            if old.hasUnrecorded { state.taps.lastUnrecorded = services.now() }
            let reshaped = old.views.keys.contains {
                scene.views[$0] != nil && old.format(of: $0) != scene.format(of: $0)
            }
            for (id, view) in state.views
            where scene.views[id.inRoom]?.isUsed != true || view.format != scene.format(of: id.inRoom) {
                ended.append(view)
                state.views[id] = nil
                state.taps.forgetSources(of: id)
            }
            let hasEnded = ended.contains { !$0.id.isOutgoing }
            // A stopped view's tiles are arranged anew on another canvas.
            if reshaped { state.arrangements = [:] }
            state.scene = scene
            if state.isRunning {
                makeViews(&state)
                attachTaps(&state)
                ended += state.endOutgoing()
                let gates = isCut ? state.taps.gates : []
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
            return (
                ended, choosesAgain, old.senders != scene.senders, moved,
                state.taps.trackPictures(in: state.scene, state.people)
            )
        }
        close(ended, in: scene)
        for intake in tracked { intake.beginTrack() }
        for (view, tiles) in moved { tilesChanged(view, tiles) }
        if !ended.isEmpty || camerasChanged { updateShown(at: services.now()) }
        return reshaped
    }

    /// Closes views that are not made any more. What members get of them as it comes goes on until the keyframe of the
    /// next view, which waits for the sender's own.
    private func close(_ ended: [MixView], in scene: Scene) {
        for view in ended {
            if !view.id.isOutgoing, view.forwards(anyOf: scene.senders(in: view.id.group)) {
                state.withLock { $0.lingering.append((view, nil)) }
            } else {
                view.close()
            }
        }
    }

    private func closeLingering(at now: Instant) {
        let ended = state.withLock { state -> [MixView] in
            if state.lingering.isEmpty { return [] }
            let all = state.lingering.map { (view: $0.view, until: $0.until ?? now + Self.lingerTime) }
            let scene = state.scene
            func goesOn(_ view: MixView, _ until: Instant) -> Bool {
                now < until && view.forwards(anyOf: scene.senders(in: view.id.group))
            }
            state.lingering = all.filter { goesOn($0.view, $0.until) }
            return all.filter { !goesOn($0.view, $0.until) }.map(\.view)
        }
        for view in ended { view.close() }
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

    // MARK: - Renditions

    /// Adds `member` to the rendition of this kind and returns the rendition's key; nil when the room does not make the
    /// view.
    func subscribe(
        _ member: String, view: ViewID, format: VideoSendFormat, kind: RenditionKind, budget: BitRate?, loop: Int
    ) -> RenditionKey? {
        guard let view = state.withLock({ $0.views[view] }) else { return nil }
        let rung = view.ladder.rung(for: kind, format.codec)
        var forwarding: (() -> Forwarding)?
        if case .forwarded(let picture) = kind {
            guard let found = makeForwarding(of: picture, in: view) else { return nil }
            forwarding = found
        }
        let key = RenditionKey(
            room: id, view: view.id, codec: format.codec,
            singleNAL: format.codec == .h264 && format.packetizationMode == 0,
            kind: kind)
        view.rendition(key, make: { make(key, rung, of: view.ladder, forwarding?()) }) {
            $0.add(member, budget: budget, loop: loop)
        }
        return key
    }

    /// The picture of a view that its members may get as it comes, and its codec; nil: there is none.
    func offered(of view: ViewID, at now: Instant) -> (picture: String, codec: VideoCodec)? {
        guard let picture = state.withLock({ $0.views[view] })?.offered(at: now),
            let codec = state.withLock({ $0.sender(of: picture) })?.intake.codec
        else { return nil }
        return (picture, codec)
    }

    /// What a participant is asked to send at most of its pictures that go to others as they come.
    func forwardLimits(of participant: String) -> [VideoSource: BitRate] {
        let pictures: [VideoSource: String] = [.camera: participant, .screen: PictureID.screen(of: participant)]
        return forwardLimits.withLock { limits in pictures.compactMapValues { limits[$0]?.values.min() } }
    }

    private func makeForwarding(of picture: String, in view: MixView) -> (() -> Forwarding)? {
        guard let (intake, source, requests) = state.withLock({ $0.sender(of: picture) }) else { return nil }
        let asks = Forwarding.Services(
            requestKeyframe: { requests.keyframe(source) },
            limit: { [forwardLimits] owner, rate in
                forwardLimits.withLock { limits in
                    limits[picture, default: [:]][owner] = rate
                    if limits[picture]?.isEmpty == true { limits[picture] = nil }
                    requests.limit(source, limits[picture]?.values.min())
                }
            },
            ended: { [weak view, id, services] _ in
                view?.refuse(picture, at: services.now())
                services.refresh(id)
            })
        return { [format = view.format, counters = services.decode.counters] in
            let stream = ForwardedStream(
                width: format.width, height: format.height, framesPerSecond: format.framesPerSecond)
            return Forwarding(stream, of: intake, asks, counters: counters)
        }
    }

    private func make(
        _ key: RenditionKey, _ rung: Ladder.Rung, of ladder: Ladder, _ forwarding: Forwarding? = nil
    ) -> Rendition {
        Rendition(
            key: key, rung: rung, parameterSetID: ladder.parameterSetID(for: key.kind), pool: services.pool,
            meters: services.meters,
            overload: services.overload, counters: renditionCounters[RenditionLabel(key, rung)], forwarding: forwarding,
            now: services.now,
            deliver: services.deliver, report: services.report)
    }

    /// Whether the server saves work: from the first level of an overload on.
    var savesWork: Bool { services.overload.usesFastEncoders }

    /// Whether an overload leaves nothing for pictures that spare others' quality.
    var isOverloaded: Bool { services.overload.level >= .noTopRung }

    /// The views of which a tap takes the participants' top H.264 rendition.
    var recorded: Set<ViewID> {
        state.withLock { state in state.scene.hasUnrecorded ? [] : Set(state.taps.views) }
    }

    func unsubscribe(_ member: String, from key: RenditionKey) { view(key)?.remove(member, from: key) }
    package func rendition(_ key: RenditionKey) -> Rendition? { view(key)?.rendition(key) }
    private func view(_ key: RenditionKey) -> MixView? { state.withLock { $0.views[key.view] } }

    /// Whether pictures wait to be decoded, composed or encoded. Simulations wait for them, since their clocks do not.
    package var isBusy: Bool {
        let (views, people) = state.withLock { ($0.views.values, $0.people.values) }
        return people.contains { $0.intake.pictures.contains(where: \.lane.isBusy) } || views.contains(where: \.isBusy)
    }

    // MARK: - Ticks

    /// - Parameter rate: only the views of this frame rate; nil: all.
    private func tick(_ tick: Instant, rate: Int? = nil) {
        closeLingering(at: tick)
        let (scene, outgoing, views, intakes, spared) = state.withLock {
            ($0.scene, $0.outgoingScene, $0.views, $0.intakes, $0.sparedViews)
        }
        for (id, view) in views where rate.map({ view.format.framesPerSecond == $0 }) ?? true {
            if let rate, spared.contains(id), services.overload.leavesOut(tick, framesPerSecond: rate) { continue }
            guard let scene = id.isOutgoing ? outgoing : scene else { continue }
            let tiles: @Sendable () -> Void = { [weak self, weak view] in
                guard let self, let view else { return }
                updateShown(at: tick)
                if !id.isOutgoing { tilesChanged(id, view.tiles) }
            }
            let changes = MixView.Changes(
                tiles: tiles, needs: { [weak self] in self?.updateShown(at: tick) },
                offer: { [services, id = self.id] in services.refresh(id) })
            view.tick(tick, scene: scene, intakes: intakes, changes: changes)
        }
    }

    /// See `OverloadState.leavesOut`.
    var sparedViews: Set<ViewID> { state.withLock { $0.sparedViews } }

    /// Turns decoding on for the participants who have a tile in some view that is mixed and the camera on, and off for
    /// all others.
    private func updateShown(at now: Instant) {
        let (views, people, intakes, inRoom, outgoing) = state.withLock {
            ($0.views, $0.people, $0.intakes, $0.scene.senders, $0.outgoingScene?.senders ?? [])
        }
        var shown: Set<ObjectIdentifier> = []
        for view in views.values where !view.passes {
            let senders = view.id.isOutgoing ? outgoing : inRoom
            for tile in view.tiles.tiles where senders.contains(tile.picture) {
                if let intake = intakes[tile.picture] { shown.insert(ObjectIdentifier(intake)) }
            }
        }
        // A view in place of one that has ended has no tiles before its first tick, which comes here again: who was in the
        // other one would be decoded anew from a keyframe that had to be requested.
        let isArranged = views.values.allSatisfy(\.isArranged)
        for person in people.values {
            for intake in person.intake.pictures where isArranged || shown.contains(ObjectIdentifier(intake)) {
                intake.setShown(shown.contains(ObjectIdentifier(intake)), at: now)
            }
        }
    }

    package func close() {
        let (views, intakes) = state.withLock { state in
            if !state.isClosed { services.audio.count(rooms: -1, people: -state.people.count) }
            state.isClosed = true
            services.video.remove(id)
            services.audio.execute { [id] in $0.remove(id) }
            defer {
                state.views = [:]
                state.lingering = []
                state.people = [:]
                state.users = []
            }
            return (state.views.values + state.lingering.map(\.view), state.people)
        }
        for view in views { view.close() }
        for person in intakes.values { for picture in person.intake.pictures { picture.close() } }
    }
}
