import Basics
import Mixing
import Peer

/// The taps of a room: what leaves it, and which renditions and pictures it takes for that. A value; the engine's lock is
/// held around its calls.
struct RoomTaps: Sendable {
    struct Tap {
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
    struct AudioTap {
        var group: GroupID
        let gate: TapGate
    }

    /// A tap of what each participant of a group sends.
    struct Tracks {
        var group: GroupID
        let tap: TrackTap
        let gate: TapGate
    }

    /// A picture that is taken for tracks.
    struct TrackedPicture: Hashable {
        var isScreen: Bool
        /// The names of the taps.
        var taps: Set<String>
    }

    /// By name.
    private(set) var taps: [String: Tap] = [:]
    /// Those that take the mix alone, by name.
    private(set) var audioTaps: [String: AudioTap] = [:]
    /// By name; their gates have no media, and tell whether the audio thread has made all cuts.
    private(set) var trackTaps: [String: Tracks] = [:]
    /// How many times somebody was left out of the taps from then on.
    private(set) var cuts = 0
    /// Until when participants' pictures may have somebody who was not recorded.
    var lastUnrecorded = Instant.distantPast
    /// The pictures that `trackTaps` take, by id.
    private var trackedPictures: [String: TrackedPicture] = [:]

    var gates: [TapGate] { taps.values.map(\.gate) + audioTaps.values.map(\.gate) + trackTaps.values.map(\.gate) }
    /// The views of which a tap takes the picture.
    var views: [ViewID] { taps.values.map(\.view) }
    /// Those whose renditions a tap is a member of.
    var takenViews: [ViewID] { taps.values.flatMap { $0.sources.map(\.key.view) } }

    /// The picture of a view that leaves the room.
    func outgoing(_ view: ViewID, of scene: Scene) -> ViewID { scene.hasUnrecorded ? view.outgoing(cuts) : view }

    // MARK: - Beginning and end

    mutating func add(_ name: String, _ tap: Tap) { taps[name] = tap }
    mutating func add(_ name: String, _ tap: AudioTap) { audioTaps[name] = tap }
    mutating func add(_ name: String, _ tap: Tracks) { trackTaps[name] = tap }
    mutating func endTracks(_ name: String) { trackTaps[name] = nil }

    mutating func end(_ name: String, in views: [ViewID: MixView]) {
        for source in taps.removeValue(forKey: name)?.sources ?? [] {
            views[source.key.view]?.remove(name, from: source.key)
        }
        audioTaps[name] = nil
    }

    /// Attaches all of them to the room's audio, which has just begun.
    func attach(to room: AudioRoom) {
        let all = taps.mapValues { AudioTap(group: $0.view.group, gate: $0.gate) }.merging(audioTaps) { $1 }
        for (name, tap) in all { room.tap(name, of: tap.group) { tap.gate.take($0, at: $1) } }
        for (name, tap) in trackTaps { room.tapVoices(name, of: tap.group, tap.voices) }
    }

    // MARK: - Renditions

    /// The engine makes no view any more.
    mutating func forgetSources() { for name in taps.keys { taps[name]?.sources = [] } }

    /// A view has ended.
    mutating func forgetSources(of view: ViewID) {
        for name in taps.keys { taps[name]?.sources.removeAll { $0.key.view == view } }
    }

    /// Ends what all taps take, at once: somebody may not be in it from now on.
    mutating func cut(in views: [ViewID: MixView]) {
        cuts += 1
        for gate in gates { gate.cut() }
        for (name, tap) in taps {
            for source in tap.sources { views[source.key.view]?.remove(name, from: source.key) }
            taps[name]?.sources = []
        }
    }

    /// Makes each tap a member of the top rendition of the picture that leaves the room, where its view is made.
    ///
    /// - Parameter make: makes the rendition of a view.
    mutating func attach(
        in room: String, _ scene: Scene, to views: [ViewID: MixView],
        make: (RenditionKey, Ladder.Rung, Ladder) -> Rendition
    ) {
        for (name, tap) in taps {
            let wanted = outgoing(tap.view, of: scene)
            guard tap.key?.view != wanted, let view = views[wanted], let rung = view.ladder.rungs.first else {
                continue
            }
            let key = RenditionKey(room: room, view: view.id, codec: .h264, singleNAL: false, kind: .rung(0))
            let floor = wanted.isOutgoing ? Int64.min : lastUnrecorded.ticks(at: 90_000)
            let number = tap.gate.begin(after: floor)
            view.rendition(key, make: { make(key, rung, view.ladder) }) { rendition in
                rendition.tap(name, needs: tap.needs) { [gate = tap.gate, weak rendition] frame in
                    if gate.take(frame, from: number) { rendition?.requestKeyframe(isUrgent: true) }
                }
            }
            taps[name]?.sources.append(Tap.Source(number: number, key: key))
        }
    }

    /// Ends what a tap took before a source, whose frames it gets now. Returns whether there was such.
    mutating func settle(_ name: String, on number: Int, in views: [ViewID: MixView]) -> Bool {
        guard let sources = taps[name]?.sources, let index = sources.firstIndex(where: { $0.number == number }),
            index > 0
        else { return false }
        for source in sources[..<index] { views[source.key.view]?.remove(name, from: source.key) }
        taps[name]?.sources.removeFirst(index)
        return true
    }

    // MARK: - Tracks

    /// Gives the frames of those who may be recorded to the taps of tracks. Returns the intakes that now begin, and need
    /// a keyframe.
    mutating func trackPictures(in scene: Scene, _ people: [String: RoomEngine.Person]) -> [VideoIntake] {
        let takers = trackTaps.filter { $0.value.tap.picture != nil }
        if takers.isEmpty, trackedPictures.isEmpty { return [] }
        var tracked: [String: TrackedPicture] = [:]
        for person in scene.people where person.isRecorded && person.sendsVideo {
            let names = takers.filter { $0.value.group == person.group }.keys
            if names.isEmpty { continue }
            tracked[person.id] = TrackedPicture(
                isScreen: person.source == .screen || person.isPresenting, taps: Set(names))
        }
        var beginning: [VideoIntake] = []
        for (id, person) in people {
            for (source, intake) in [(VideoSource.camera, person.intake.video), (.screen, person.intake.screen)] {
                let picture = source == .screen ? PictureID.screen(of: id) : id
                let now = tracked[picture]
                if now == trackedPictures[picture] { continue }
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
        trackedPictures = tracked
        return beginning
    }
}

extension RoomTaps.Tracks {
    /// Takes the voices of a tick. Nobody's audio is in one that began before the audio thread had made all cuts.
    var voices: @Sendable ([TrackVoice], Int64) -> Void {
        { [tap, gate] voices, time in
            tap.voices(
                gate.isAudioCut
                    ? voices : voices.map { TrackVoice(participant: $0.participant, samples: nil, delay: $0.delay) },
                time)
        }
    }
}
