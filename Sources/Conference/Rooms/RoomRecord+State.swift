import Basics
import FoundationEssentials
import Recording
import RoomMedia
import Threads

extension RoomRecord {
    /// A room as it comes from another server.
    ///
    /// - Parameter worth: how much of the state counts.
    init(_ state: RoomState, room: Room, engine: RoomEngine, worth: RoomState.Worth) {
        self.init(room: room, engine: engine)
        isReserved = state.isReserved
        // It has had its first participant, whose layout, recording and withdrawal are special.
        isUnused = worth == .settings
        guard worth == .everything else { return }
        for message in state.chat { history.add(ChatMessage(message)) }
        outputs.pending = PendingOutputs(state)
        audience.feed.expect(room.absent.seats.map(\.info))
    }

    /// What the room takes along to another server.
    func state(at now: Date) -> RoomState {
        var state = RoomState(room: room.id, meeting: room.meetingID, createdAt: room.createdAt, savedAt: now)
        state.isReserved = isReserved
        state.settings = RoomState.Settings(room.settings)
        // Others have no tickets, and come back as somebody else.
        let members = room.members.filter { $0.isNative && !$0.isInput }.map { RoomState.Seat($0) }
        state.seats = (room.absent.seats + members).sorted { $0.order < $1.order }
        state.gone = room.absent.gone
        state.hosts = RoomState.HostKeys(room.hosts)
        state.links = room.links.all.map { RoomState.Link($0) }
        // What is said in a group stays there: a server of an older version would show it to everybody.
        state.chat = history.messages(in: 0).map { RoomState.Message($0) }
        state.breakout = room.breakout.map { RoomState.Groups($0, at: MonotonicClock.now()) }
        state.recordings = outputs.pending.recordings + outputs.running.map { RoomState.Recording($0) }
        state.streams = outputs.pending.streams + outputs.streams.running.map { RoomState.Stream($0.request) }
        state.inputs = outputs.pending.inputs + outputs.inputs.filter { !$0.isOver }.map { RoomState.Input($0.wish) }
        return state
    }

    /// Whether the state has changed. Cheap: called with the room's lock held, at each change.
    func differsInState(from old: RoomRecord) -> Bool {
        room.differsInState(from: old.room) || history.messages.last?.id != old.history.messages.last?.id
            || outputs.pending != old.outputs.pending || isReserved != old.isReserved
            || outputs.streams.running.map(\.id) != old.outputs.streams.running.map(\.id)
            || outputs.inputs.count { !$0.isOver } != old.outputs.inputs.count { !$0.isOver }
    }
}

extension Room {
    fileprivate func differsInState(from old: Room) -> Bool {
        if settings != old.settings || kept != old.kept || meetingID != old.meetingID || absent != old.absent
            || breakout != old.breakout
        {
            return true
        }
        if recordings.map(\.id) != old.recordings.map(\.id) || recordings.map(\.state) != old.recordings.map(\.state) {
            return true
        }
        return members.count != old.members.count || members.map(\.id) != old.members.map(\.id)
            || changedMembers(since: old).contains { $0.now.differsInState(from: $0.before) }
    }
}

extension RoomState.Settings {
    init(_ settings: RoomSettings) {
        self.init()
        (layout, onPresent) = (settings.layout, settings.onPresent.text)
        (width, height, framesPerSecond) = (settings.width, settings.height, settings.framesPerSecond)
        (locked, layoutLocked, admit) = (settings.locked, settings.layoutLocked, settings.admit.rawValue)
        pin = settings.pin?.text
        let policy = settings.policy
        (muteOnEntry, share) = (policy.muteOnEntry, policy.share.rawValue)
        (chat, unmute) = (policy.chat.rawValue, policy.unmute.rawValue)
        (maxParticipants, maxViewers, hls) = (settings.maxParticipants, settings.maxViewers, settings.hls)
        views = settings.views.mapValues { RoomState.View($0) }
    }

    /// The settings, checked as those of a request. What is missing is as in `base`.
    ///
    /// - Parameter hasLayout: whether this server has a layout; others count as missing.
    func settings(on base: RoomSettings, hasLayout: (String) -> Bool) throws(ConferenceError) -> RoomSettings {
        func known(_ name: String?) -> String? { name.flatMap { hasLayout($0) ? $0 : nil } }
        var change = RoomSettingsChange()
        change.layout = known(layout)
        change.onPresent = onPresent.flatMap { OnPresent($0) }.flatMap { choice in
            choice.layout.map(hasLayout) ?? true ? choice : nil
        }
        (change.width, change.height, change.framesPerSecond) = (width, height, framesPerSecond)
        (change.locked, change.layoutLocked, change.hls) = (locked, layoutLocked, hls)
        change.admit = admit.flatMap { Admission(rawValue: $0) }
        if admit != nil, change.admit == nil { throw .badRequest("admit") }
        change.pin = pin ?? ""
        func permission(_ name: String?) -> RoomPolicy.Permission? {
            // What this server does not know is kept to the fewest.
            name.map { RoomPolicy.Permission(rawValue: $0) ?? .presenters }
        }
        (change.muteOnEntry, change.share) = (muteOnEntry, permission(share))
        (change.chat, change.unmute) = (permission(chat), permission(unmute))
        (change.maxParticipants, change.maxViewers) = (maxParticipants, maxViewers)
        var base = base
        if let views {
            base.views = [:]
            change.views = views.mapValues { view in ViewSettings(view, layout: known(view.layout)) }
        }
        try base.apply(change)
        return base
    }
}

extension RoomState.View {
    fileprivate init(_ view: ViewSettings) {
        self.init(
            layout: view.layout, width: view.width, height: view.height, framesPerSecond: view.framesPerSecond,
            names: view.names,
            renditions: view.renditions?.map { rung in
                RoomState.Rung(
                    height: rung.height, framesPerSecond: rung.framesPerSecond, bitrate: rung.bitRate.bitsPerSecond)
            })
    }
}

extension ViewSettings {
    fileprivate init(_ view: RoomState.View, layout: String?) {
        self.init()
        self.layout = layout
        (width, height, framesPerSecond, names) = (view.width, view.height, view.framesPerSecond, view.names)
        let (sizes, rates) = (Self.side, Self.bitsPerSecond)
        renditions = view.renditions?.filter { rung in
            sizes.contains(rung.height) && rates.contains(rung.bitrate)
                && rung.framesPerSecond.map { RoomSettings.allowed.framesPerSecond.contains($0) } ?? true
        }.map { rung in
            RoomMediaConfiguration.Rung(
                height: rung.height, framesPerSecond: rung.framesPerSecond,
                bitRate: BitRate(bitsPerSecond: rung.bitrate))
        }
    }
}

extension RoomState.Seat {
    /// The participant as events told it where the room comes from.
    fileprivate var info: ParticipantInfo {
        ParticipantInfo(
            id: id, name: name, role: role, audio: audio && !audioMuted && role != .viewer,
            video: video && !videoMuted && role != .viewer, hand: hand, handOrder: hand ? handOrder ?? 0 : nil,
            speaking: false, presenting: false,
            audioMuted: audioMuted, videoMuted: videoMuted, pinned: pinOrder != nil, volume: volume,
            unrecordedBy: unrecordedBy.compactMap { RecordingRefusal(rawValue: $0) }.sorted())
    }
}

extension RoomState.Message {
    fileprivate init(_ message: ChatMessage) {
        self.init(
            id: message.id, from: message.from, name: message.fromName, text: message.text, at: message.at,
            picture: message.picture.map { RoomState.Picture(id: $0.id, type: $0.type, bytes: $0.bytes) })
    }
}

extension ChatMessage {
    fileprivate init(_ message: RoomState.Message) {
        let picture = message.picture.flatMap { picture in
            ChatPicture.Format(id: picture.id).map { ChatPicture(id: picture.id, type: $0.type, bytes: picture.bytes) }
        }
        self.init(
            id: message.id, from: message.from, fromName: message.name, to: nil, text: message.text, picture: picture,
            at: message.at)
    }
}

extension RoomState.Recording {
    fileprivate init(_ recording: RoomRecording) {
        let info = recording.info
        self.init(series: info.series)
        part = info.partOfSeries
        view = recording.view?.name
        audioOnly = recording.content.audioOnly
        tracks = recording.content.tracks
        startedBy = recording.startedBy
        isPaused = info.state == .paused
        group = recording.group == .main ? nil : recording.group.number
    }
}

extension RoomState.Stream {
    fileprivate init(_ request: StreamRequest) {
        self.init(url: request.url, view: request.view, keyframeInterval: request.keyframeInterval?.inSeconds)
    }
}

extension RoomState.Input {
    fileprivate init(_ wish: InputRequest) { self.init(url: wish.url, name: wish.name, loops: wish.loops) }
}
