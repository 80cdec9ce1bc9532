import Basics
import Mixing
import Peer
import Recording
import RoomMedia

/// A room with its media and its listeners: the state that the lock of `LiveRoom` protects.
struct RoomRecord {
    var room: Room
    let engine: RoomEngine
    var outputs = RoomOutputs()
    var audience = RoomAudience()
    var history = ChatHistory()
    var recordings = MeetingRecordings()
    /// The limits that senders were last asked to keep.
    var limits: [String: SenderLimits] = [:]
    /// The tiles of each view, as last announced.
    var tiles: [ViewID: TilesInfo] = [:]
    /// Created by `RoomDirectory.create`: the room waits for its first participant without a time limit.
    var isReserved = false
    /// No participant has joined yet.
    var isUnused = true
    /// The room has ended; callers that still hold it must look it up again.
    var isOver = false
    /// The only participant so far, and whether the room was reserved before; nil once another one joined.
    var firstGuest: (id: String, foundRoom: Bool)?

    /// The view that a member gets.
    func view(of id: String) -> ViewID { room.member(id).map { room.view(of: $0) } ?? .main }

    /// The recording that a member sees and controls where it names none.
    func recording(seenBy id: String) -> RoomRecording? {
        room.member(id).flatMap { room.recordings(of: $0).shown }.flatMap { recording($0.id) }
    }
    func recording(_ id: String) -> RoomRecording? { outputs.recording(id) }

    /// Takes a recording out of the room, for its caller to close; nil: it does not run.
    mutating func end(_ id: String) -> RoomRecording? {
        room.recordings.removeAll { $0.id == id }
        return outputs.endRecording(id)
    }

    /// The views that somebody takes: members, recordings, streams, the HLS stream, snapshots.
    var usedViews: Set<ViewID> { outputs.views.union(room.views.values) }

    /// Whether the room keeps something of a meeting beside its running recordings.
    var remembersMeeting: Bool {
        !history.messages.isEmpty || recordings.isPast(beside: outputs.recordingIDs) || room.absent != AbsentSeats()
            || room.hadRemoval || room.breakout != nil || !outputs.pending.isEmpty
    }

    /// Forgets what the next meeting must not see.
    mutating func forgetMeeting() {
        history.clear()
        recordings.clear(keeping: outputs.recordingIDs)
        room.forgetSeats()
        outputs.pending = PendingOutputs()
    }

    /// Takes over new settings, or throws and changes none.
    mutating func apply(_ change: RoomSettingsChange) throws(ConferenceError) {
        var changed = room
        try changed.change(change)
        for view in outputs.running.compactMap(\.view?.name) {
            let isSame =
                changed.settings.hasView(view)
                && changed.settings.format(ofView: view) == room.settings.format(ofView: view)
            if isSame { continue }
            throw .conflict(
                "The size, the frame rate and the renditions of view “\(view)” cannot change while it is recorded: stop the recording first."
            )
        }
        // A stream follows its view to another size.
        if let view = outputs.streams.views.first(where: { !changed.settings.hasView($0.name) }) {
            throw .conflict("View “\(view.name)” is being streamed: end the stream first.")
        }
        room = changed
    }

    /// The room as clients see it.
    var info: RoomInfo {
        let renditions = engine.allViews.flatMap(\.allRenditions).map { rendition in
            RenditionInfo(
                view: rendition.key.view.name, codec: rendition.key.codec, kind: rendition.key.kind.name,
                width: rendition.size.width, height: rendition.size.height,
                framesPerSecond: rendition.rung.framesPerSecond, bitRate: rendition.bitRate,
                members: rendition.memberCount, isOutgoing: rendition.key.view.isOutgoing)
        }
        return RoomInfo(
            id: room.id, settings: room.settings, participants: room.infos, waiting: room.waiting.people.count,
            hasHostKey: !room.hosts.isEmpty,
            tiles: tiles[.main] ?? TilesInfo(width: room.settings.width, height: room.settings.height, tiles: []),
            renditions: renditions.sorted { ($0.height, $0.codec.rawValue) > ($1.height, $1.codec.rawValue) },
            views: views, recordings: outputs.running.map(\.info.withoutTracks),
            preRoll: outputs.preRoll?.length ?? .zero, isStreamed: room.isStreamed, createdAt: room.createdAt)
    }

    private var views: [ViewInfo] {
        let pictures = room.pictures
        let used = room.members.filter { !$0.isInput }.map { pictures.view(of: $0).withEveryone }
        let named = room.settings.viewNames.map { ViewID($0) }
        let own = Set(used).subtracting(named).sorted {
            ($0.group.number, $0.name, $0.choice?.layout ?? "", $0.choice?.pins.joined() ?? "")
                < ($1.group.number, $1.name, $1.choice?.layout ?? "", $1.choice?.pins.joined() ?? "")
        }
        return (named + own).map { view in
            let format = room.settings.format(ofView: view.name)
            return ViewInfo(
                shown: pictures.shown(view), width: format.width, height: format.height,
                framesPerSecond: format.framesPerSecond, names: room.settings.views[view.name]?.names,
                participants: used.count { $0 == view }, isRecorded: outputs.running.contains { $0.view == view })
        }
    }

    /// The scene for the media. `layout` returns the layout of a name, or a replacement.
    func scene(layout: (String) -> Layout?) -> Scene {
        Self.scene(of: room, using: usedViews, layout: layout)
    }

    static func scene(of room: Room, using used: Set<ViewID> = [], layout: (String) -> Layout?) -> Scene {
        var scene = Scene(
            width: room.settings.width, height: room.settings.height, framesPerSecond: room.settings.framesPerSecond,
            views: [:])
        scene.viewOf = room.views
        let pictures = room.pictures
        let takers = Dictionary(grouping: room.members.filter { !$0.isInput }) { scene.viewOf[$0.id] ?? .main }
        for view in used.union([.main]) {
            let shown = pictures.shown(view)
            // Others' tiles are all that who has a picture alone may want (`self` of layouts).
            let isOwn = view != .main(of: view.group) && takers[view]?.count == 1
            var its = layout(shown.name)
            if view.viewer != nil { its?.showsSelf = false }
            scene.views[view] = Scene.View(
                layout: its, pins: shown.pins.isEmpty ? nil : shown.pins,
                format: room.settings.format(ofView: view.name), names: room.settings.views[view.name]?.names,
                isUsed: used.contains(view))
            scene.views[view]?.viewer =
                view.viewer ?? (isOwn ? takers[view]?.first.map { $0.asParticipant ?? $0.id } : nil)
            // Only members take such a view: no recording, stream or snapshot needs what their clients draw.
            if view.viewer != nil || view.choice != nil, let all = takers[view], all.allSatisfy(\.drawsSigns) {
                scene.views[view]?.takersDrawSigns = true
            }
        }
        scene.passthrough = room.settings.passthrough == .auto
        scene.speech = room.sceneSpeech
        scene.room = room.id
        scene.transition = room.settings.transition
        for member in room.members {
            var person = Scene.Person(
                id: member.id, name: member.name, isShown: member.isShown, sendsVideo: member.sendsVideo,
                sendsAudio: member.sendsAudio, isMuted: !member.isHeard, hand: member.hand,
                isPresenting: member.isPresenting && !member.sendsScreenBeside, isPinned: member.isPinned,
                joinOrder: member.joinOrder,
                gain: Float(member.volume), hearsAs: member.asParticipant ?? member.id)
            person.role = LayoutMember.Role(rawValue: member.role.rawValue) ?? .participant
            person.externalID = member.externalID
            person.avatar = member.avatar
            person.pinOrder = member.pinOrder ?? 0
            person.presentOrder = member.presentOrder
            person.isRecorded = member.isRecorded
            person.group = room.place(of: member)
            person.alsoHears = room.alsoHeard(by: member)
            person.isHeardEverywhere = room.isHeardEverywhere(member)
            scene.people.append(person)
        }
        scene.people += room.members.compactMap { Self.screen(of: $0, in: room.place(of: $0)) }
        return scene
    }

    /// The picture of the screen that a member sends beside the camera; nil: none.
    private static func screen(of member: Member, in group: GroupID) -> Scene.Person? {
        guard member.sendsScreenBeside, member.isShown else { return nil }
        var person = Scene.Person(
            id: PictureID.screen(of: member.id), name: member.name, isShown: true, sendsVideo: !member.videoMuted,
            sendsAudio: false, isMuted: false, hand: false, isPresenting: true, isPinned: false,
            joinOrder: member.joinOrder, gain: 1, hearsAs: member.id)
        person.sender = member.id
        person.source = .screen
        person.presentOrder = member.presentOrder
        person.isRecorded = member.isRecorded
        person.group = group
        return person
    }

    /// The limits of senders that differ from those that they were asked to keep, by the views in use.
    mutating func newLimits() -> [String: SenderLimits] {
        let used = usedViews
        let changed = room.neededLimits(tiles.lazy.filter { used.contains($0.key) }.map(\.value))
            .filter { $0.value.differs(from: limits[$0.key]) }
        limits.merge(changed) { $1 }
        return changed
    }
}

extension Room {
    /// Who speaks, for the media.
    var sceneSpeech: Scene.Speech {
        var all = Scene.Speech()
        for (group, speech) in speech {
            all.speakers[group] = speech.active
            for (rank, id) in speech.ranks.enumerated() { all.ranks[id] = rank }
            for (rank, id) in speech.loudest.enumerated() { all.loudnessRanks[id] = rank }
            all.speaking.formUnion(speech.speaking)
        }
        return all
    }
}
