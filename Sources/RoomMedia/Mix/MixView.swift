import Basics
import Codecs
import Glibc
import Mixing
package import Synchronization
import Threads

/// One view of a room, named or a participant's own: composes its picture and feeds its renditions.
///
/// Composing runs in a lane of its own, one tick at a time. A tick that comes before the last is done is skipped and
/// counted.
package final class MixView: Sendable {
    package let id: ViewID
    let format: ViewFormat
    let ladder: Ladder

    /// Touched by the lane's jobs only.
    private struct Canvas {
        var compositor: Compositor
        var arrangement: Arrangement
        var clock = PictureClock()
        var generation: UInt64 = 0
        var picture: Picture?
        var pools: [Int: PicturePool] = [:]
        /// The generation of each participant's picture that was composed last.
        var composed: [String: UInt64] = [:]
        /// The last tick at which somebody needed the mix.
        var lastNeed = Instant.distantPast
        /// Whether somebody has the mix already: then it goes on, whoever comes into it.
        var isTaken = false
    }

    /// What the view tells the room of.
    struct Changes: Sendable {
        var tiles: @Sendable () -> Void
        /// The view begins or ceases to need decoded pictures.
        var needs: @Sendable () -> Void
        /// The picture that could be forwarded cannot be any more.
        var offer: @Sendable () -> Void
    }

    /// The mix goes on for this time after the last member has begun to take a forwarded picture: who changes back at
    /// once needs no keyframe of the sender, and the first second of what is forwarded is decoded too.
    private static let overlap = Duration.seconds(1)

    private let canvas: Confined<Canvas>
    private let lane: SerialLane
    private let renditions = Guarded<[RenditionKey: Rendition]>([:])
    private let published: Guarded<TilesInfo>
    private let wasArranged = Atomic(false)
    private let snapshots = Guarded<[@Sendable (Picture) -> Void]>([])
    private let offer = Guarded(PassthroughOffer())
    private let isPassing = Atomic<Bool>(false)
    private let overload: OverloadState
    private let now: @Sendable () -> Instant
    private let delays: PictureDelays
    package let lateTicks = Atomic<Int>(0)

    init(
        id: ViewID, format: ViewFormat, ladder: Ladder, pool: WorkPool, meters: StageMeters, overload: OverloadState,
        now: @escaping @Sendable () -> Instant
    ) {
        self.id = id
        self.format = format
        self.ladder = ladder
        self.overload = overload
        self.now = now
        delays = meters.delays
        canvas = Confined(
            Canvas(compositor: Compositor(width: format.width, height: format.height), arrangement: Arrangement(of: id))
        )
        lane = SerialLane(pool: pool, meter: meters.compose, limit: 1, slack: SerialLane.slackBehindEncoders)
        published = Guarded(TilesInfo(width: format.width, height: format.height, tiles: []))
    }

    var tiles: TilesInfo { published.withLock { $0 } }
    /// Whether `tiles` are those of a scene. A new view has none before its first tick.
    var isArranged: Bool { wasArranged.load(ordering: .acquiring) }

    // MARK: - Forwarding

    /// The picture that members may get as it comes; nil: the view is a mix.
    func offered(at now: Instant) -> String? { offer.withLock { $0.offered(at: now) } }

    /// Frames of the picture could not go on as they came.
    func refuse(_ picture: String, at now: Instant) { offer.withLock { $0.refuse(picture, at: now) } }

    /// Whether all that members take is forwarded, so that nothing need be decoded for the view.
    var passes: Bool { isPassing.load(ordering: .relaxed) }

    /// Whether a member takes the picture of one of these participants as it comes.
    func forwards(anyOf senders: Set<String>) -> Bool {
        allRenditions.contains { $0.key.kind.forwardedPicture.map(senders.contains) ?? false }
    }

    // MARK: - Renditions

    func rendition(_ key: RenditionKey) -> Rendition? { renditions.withLock { $0[key] } }
    /// Whether a picture is being composed or encoded.
    var isBusy: Bool { lane.isBusy || allRenditions.contains(where: \.isBusy) }
    package var allRenditions: [Rendition] { renditions.withLock { Array($0.values) } }

    /// Hands the rendition of `key` to `member`; `make` creates the rendition for its first member.
    func rendition(_ key: RenditionKey, make: () -> Rendition, member: (Rendition) -> Void) {
        renditions.withLock { renditions in
            let rendition = renditions[key] ?? make()
            renditions[key] = rendition
            member(rendition)
        }
    }

    func remove(_ member: String, from key: RenditionKey) {
        let ended = renditions.withLock { renditions -> Rendition? in
            guard let rendition = renditions[key], rendition.remove(member) else { return nil }
            return renditions.removeValue(forKey: key)
        }
        ended?.close()
    }

    // MARK: - Composing

    /// Passes the picture of the next tick to `body`, whether it changed or not.
    func snapshot(_ body: @escaping @Sendable (Picture) -> Void) { snapshots.withLock { $0.append(body) } }

    /// Composes the picture of a tick in the lane and hands a changed one to the encoders.
    func tick(_ tick: Instant, scene: Scene, intakes: [String: VideoIntake], changes: Changes) {
        guard !lane.isBusy else {
            lateTicks.wrappingAdd(1, ordering: .relaxed)
            overload.ticked(isLate: true)
            return
        }
        overload.ticked(isLate: false)
        lane.submit { [self] in compose(tick, scene, intakes, changes) }
    }

    private func compose(
        _ tick: Instant, _ scene: Scene, _ intakes: [String: VideoIntake], _ changes: Changes
    ) {
        guard scene.views[id] != nil else { return }
        arrange(scene, intakes, changes)
        let sole = canvas.value.arrangement.sole(in: scene)
        let isOffered = scene.passthrough && !id.isOutgoing && sole?.isPlain == true
        if offer.withLock({ $0.follow(isOffered ? sole?.picture : nil, at: tick) }) { changes.offer() }
        let renditions = allRenditions
        let forwarded = renditions.filter(\.key.kind.isForwarded)
        stop(forwarded, sole, in: scene, at: tick)
        let isWanted = forwarded.count < renditions.count || !snapshots.withLock(\.isEmpty)
        note(isWanted: isWanted, isForwarded: !forwarded.isEmpty, at: tick, changes.needs)
        if !isWanted || isResuming(scene, intakes, at: tick) { return }
        canvas.value.isTaken = true
        let waiting = snapshots.withLock { snapshots in
            defer { snapshots.removeAll() }
            return snapshots
        }

        let shown = scene.people.lazy.filter { [group = id.group] in $0.group == group }
        let people = Dictionary(shown.map { ($0.id, $0) }) { first, _ in first }
        let isBare = canvas.value.arrangement.isBare
        var trace = PictureTrace(composed: now())
        let changed = canvas.value.compositor.compose(
            canvas.value.arrangement.arranged, words: canvas.value.clock.words(room: scene.room, at: time(nil)),
            at: tick
        ) { id in
            let view = intakes[id]?.view(at: tick)
            if let view, let origin = view.origin,
                canvas.value.composed.updateValue(view.generation, forKey: id) != view.generation
            {
                trace.origins.append(origin)
            }
            var appearance = MixView.appearance(of: people[id], view, at: tick)
            appearance.isSpeaking = sole == nil && scene.speech.speaking.contains(id)
            if isBare { (appearance.isMuted, appearance.handRaised) = (false, false) }
            appearance.isLeftOut = self.id.isOutgoing && people[id]?.isRecorded == false
            return appearance
        }
        delays.composed(trace)
        if let changed {
            canvas.value.picture = changed
            canvas.value.generation &+= 1
        }
        guard let picture = canvas.value.picture else { return }
        for body in waiting { body(picture) }
        var scaled: [Int: Picture] = [format.height: picture]
        for rendition in renditions where rendition.wantsPicture(at: tick, generation: canvas.value.generation) {
            let size = rendition.rung.height
            let source = scaled[size] ?? scale(picture, rendition.rung)
            scaled[size] = source
            rendition.encode(source, at: tick, generation: canvas.value.generation, trace: trace)
        }
    }

    /// Stops what goes on as it came of whom nobody may see any more, and of a camera that has fallen silent.
    private func stop(_ forwarded: [Rendition], _ sole: Arrangement.Sole?, in scene: Scene, at tick: Instant) {
        if forwarded.isEmpty { return }
        let senders = scene.senders(in: id.group)
        for rendition in forwarded {
            if !(rendition.key.kind.forwardedPicture.map(senders.contains) ?? false) { rendition.stopForwarding() }
            // A shared screen sends nothing while it stands still.
            if sole?.isPresented == false { rendition.endSilence(after: PassthroughOffer.silence, at: tick) }
        }
    }

    /// Notes whether somebody needs the mix, or all that members take is forwarded.
    private func note(isWanted: Bool, isForwarded: Bool, at tick: Instant, _ needsChanged: @Sendable () -> Void) {
        if isWanted || !isForwarded { canvas.value.lastNeed = tick }
        let passes = tick - canvas.value.lastNeed >= Self.overlap
        if passes { canvas.value.isTaken = false }
        guard isPassing.exchange(passes, ordering: .relaxed) != passes else { return }
        needsChanged()
    }

    /// Whether the mix would begin with an old picture of a sender that was not decoded until now. What was forwarded of
    /// it goes on for as long.
    private func isResuming(_ scene: Scene, _ intakes: [String: VideoIntake], at tick: Instant) -> Bool {
        !canvas.value.isTaken
            && canvas.value.arrangement.arranged.tiles.contains { tile in
                scene.senders.contains(tile.member) && intakes[tile.member]?.isResuming(at: tick) == true
            }
    }

    /// Arranges the tiles anew when the members, the speaker or the layout changed.
    private func arrange(_ scene: Scene, _ intakes: [String: VideoIntake], _ changes: Changes) {
        let moved = canvas.value.arrangement.follow(scene) { intakes[$0]?.aspectRatio ?? 16.0 / 9 }
        if let layout = canvas.value.arrangement.layout {
            canvas.value.compositor.background = layout.background
            canvas.value.compositor.style = layout.style
        }
        canvas.value.compositor.transition = overload.level == .none ? scene.transition : .zero
        guard moved else {
            if !wasArranged.exchange(true, ordering: .acquiringAndReleasing) { changes.needs() }
            return
        }
        canvas.value.composed.removeAll(keepingCapacity: true)
        published.withLock { $0 = canvas.value.arrangement.info(width: format.width, height: format.height) }
        wasArranged.store(true, ordering: .releasing)
        changes.tiles()
    }

    private func scale(_ picture: Picture, _ rung: Ladder.Rung) -> Picture {
        let pool = canvas.value.pools[rung.height] ?? PicturePool(width: rung.width, height: rung.height, limit: 3)
        canvas.value.pools[rung.height] = pool
        let target = pool.make()
        Scaler.scale(from: picture, into: target, x: 0, y: 0, width: rung.width, height: rung.height)
        target.changes = picture.changes?.scaled(
            fromWidth: picture.width, fromHeight: picture.height, toWidth: rung.width, toHeight: rung.height)
        return target
    }

    /// A tile's state by the age of its last frame: frozen after 2 s, an avatar after 5 s. A shared screen stays live,
    /// since an unchanged screen sends no frames.
    static func state(
        age: Duration?, hasPicture: Bool, sendsVideo: Bool, isPresenting: Bool
    ) -> TileAppearance.State {
        guard sendsVideo, hasPicture, let age else { return .avatar }
        if isPresenting { return .live }
        return age >= .seconds(5) ? .avatar : age >= .seconds(2) ? .frozen : .live
    }

    private static func appearance(of person: Scene.Person?, _ view: VideoIntake.View?, at tick: Instant)
        -> TileAppearance
    {
        let state = MixView.state(
            age: view?.age, hasPicture: view?.picture != nil, sendsVideo: person?.sendsVideo ?? false,
            isPresenting: person?.isPresenting ?? false)
        var appearance = TileAppearance(
            name: person?.name ?? "", picture: state == .avatar ? nil : view?.picture,
            rotation: view?.rotation ?? .none,
            pictureGeneration: view?.generation ?? 0, state: state,
            isMuted: person?.isMuted ?? false, handRaised: person?.hand ?? false)
        appearance.isScreen = state != .avatar && person?.isPresenting ?? false
        appearance.avatar = person?.avatar
        return appearance
    }

    func close() {
        lane.close()
        let all = renditions.withLock { renditions in
            defer { renditions.removeAll() }
            return Array(renditions.values)
        }
        for rendition in all { rendition.close() }
    }
}
