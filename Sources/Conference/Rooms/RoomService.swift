import Basics
import FoundationEssentials
import Mixing
import Recording
import RoomMedia
import Synchronization
import Threads

/// Creates, changes and ends rooms. Every change sends its events to the members and updates the media.
final class RoomService: Sendable {
    let registry: RoomRegistry
    let eventCounters = EventCounters()
    let events: EventBus
    private let configuration: ConferenceConfiguration
    private let media: MediaThreads
    private let layouts: LayoutLibrary
    let control: ControlThread
    private let statistics: ServerStatistics
    private let recordings: RecordingControl
    private let hls: HLSControl
    private let log: RoomLog
    let watch = RoomObserverSlot()
    /// Whether a call of two gets the common picture, since the server is busy.
    private let isSparing = Atomic<Bool>(false)
    /// nil: nothing outlives the server.
    let file: RoomsFile?

    init(
        _ configuration: ConferenceConfiguration, media: MediaThreads, layouts: LayoutLibrary, control: ControlThread,
        statistics: ServerStatistics,
        recordings: RecordingControl, hls: HLSControl, events: EventBus, log: RoomLog, file: RoomsFile?
    ) {
        self.file = file
        self.configuration = configuration
        self.events = events
        self.media = media
        self.layouts = layouts
        self.control = control
        self.statistics = statistics
        self.recordings = recordings
        self.hls = hls
        self.log = log
        registry = RoomRegistry(configuration.limits)
    }

    // MARK: - Coming and going

    /// The room of this name, created where it does not exist yet. A new room counts for `client` until `end`.
    ///
    /// - Parameter isReserved: a new room waits for its first participant without a time limit (the API's rooms). Joins
    ///   create others, where the configuration allows that.
    func room(
        _ id: String, orMakeWith change: RoomSettingsChange, for client: JoinClient, isReserved: Bool
    ) throws(ConferenceError) -> (room: LiveRoom, isNew: Bool) {
        if let known = registry[id] { return (known, false) }
        if !isReserved, configuration.rooms.create == .api { throw .roomNotFound(id) }
        if registry.isDraining { throw .draining }
        if media.overload.refusesRooms { throw .overloaded }
        guard Names.isRoom(id) else { throw .badRequest("a room's id is \(Names.roomRule)") }
        var settings = configuration.rooms.settings
        let preset = configuration.rooms.presets.change(for: id)
        if let preset { try settings.apply(preset) }
        try settings.apply(change)
        return try registry.room(id, for: client) { kept in
            var room = Room(id: id, settings: settings, createdAt: Date(), at: MonotonicClock.now())
            room.keepsSeats = configuration.seatSecrets != nil
            room.hostAbsence = configuration.rooms.hostAbsence
            if let kept { room.take(kept) }
            if let key = change.hostKey ?? preset?.hostKey { room.give(HostKey(key)) }
            file?.changed()
            let engine = makeEngine(of: room)
            events.publish(.roomStarted(room.meeting), room: id)
            return LiveRoom(
                RoomRecord(room: room, engine: engine, isReserved: isReserved), client: client, watch: watch)
        }
    }

    private func makeEngine(of room: Room) -> RoomEngine {
        let id = room.id
        return media.makeEngine(
            id, scene: RoomRecord.scene(of: room, layout: layoutOrGrid),
            tilesChanged: { [weak self] view, tiles in
                self?.control.post(.tiles(room: id, view)) { [weak self] in self?.tilesChanged(id, view, tiles) }
            },
            speakersChanged: { [weak self] group, speakers in
                self?.control.post(.speakers(room: id, group)) { [weak self] in
                    self?.speakersChanged(id, group, speakers)
                }
            })
    }

    /// Makes a room of the state that it had at another server. Returns false where the room exists, or where the state
    /// is of a meeting that is over.
    func restore(_ state: RoomState, at date: Date) throws(ConferenceError) -> Bool {
        let id = state.room
        guard Names.isRoom(id) else { throw .badRequest("a room's id is \(Names.roomRule)") }
        if registry.isDraining { throw .draining }
        if media.overload.refusesRooms { throw .overloaded }
        var base = configuration.rooms.settings
        if let preset = configuration.rooms.presets.change(for: id) { try base.apply(preset) }
        let settings = try state.settings.settings(on: base) { layouts[$0] != nil }
        let worth = state.worth(settings, isReserved: configuration.rooms.create == .api, at: date)
        let now = MonotonicClock.now()
        let age = Duration.seconds(max(0, date.timeIntervalSince(state.savedAt)))
        if worth == .nothing {
            // What is left of a room that has ended was written then.
            registry.keep(KeptRoom(state), of: id, hostsLife: max(.zero, Hosts.keep - age), at: now)
            return false
        }
        let made = try registry.room(id, for: .administrator) { _ in
            var known = state
            if worth == .settings { (known.seats, known.gone, known.meeting) = ([], [], RandomToken.make(16)) }
            if worth != .everything { known.breakout = nil }
            // Moderators are expected in any case: else a stranger would become the moderator of a waiting room.
            var room = Room(
                known, age: age, settings: settings, expectedUntil: now + configuration.rooms.emptyTimeout, at: now)
            room.hostAbsence = configuration.rooms.hostAbsence
            events.publish(worth == .settings ? .roomStarted(room.meeting) : .roomMoved(room.meeting), room: id)
            return LiveRoom(
                RoomRecord(known, room: room, engine: makeEngine(of: room), worth: worth), client: .administrator,
                watch: watch)
        }
        if made.isNew {
            if worth != .settings { registry.restoreRemovals(state, at: now) }
            watch.changed(id)
        }
        return made.isNew
    }

    /// Ends a room for everyone in it.
    ///
    /// - Parameters:
    ///   - isForgotten: whether the next room of its name begins without its hosts.
    ///   - condition: the room stays if this is false under its lock.
    func end(
        _ id: String, reason: LeaveReason, isForgotten: Bool = false, if condition: (RoomRecord) -> Bool = { _ in true }
    ) {
        guard let room = registry[id] else { return }
        let last = room.end(if: condition) { slot in
            // Before another room of this name can begin.
            tell(slot.endInputs(), of: slot.room)
            tell(slot.audience.feed.ended(slot.room, reason), of: slot.room)
            registry.remove(
                room, seats: slot.room.members.map(\.id) + slot.audience.screens.keys,
                // A room that has moved takes it along.
                keeping: reason == .moved || isForgotten ? KeptRoom() : slot.room.kept)
            file?.changed()
            for screen in slot.audience.screens.values { control.post { screen.ended() } }
            for member in slot.room.members { notify(slot, member.id, .left(reason)) }
            for (wait, waiter) in slot.audience.waiters { endWait(wait, id, waiter, .ended(reason)) }
        }
        guard let last else { return }
        log.roomEnded(id, reason, participants: last.room.members.count)
        for peer in last.room.members.map(\.id) + last.audience.screens.keys { media.peers.leave(peer) }
        last.outputs.preRoll?.end()
        last.outputs.hls?.end()
        for recording in last.outputs.running { recordings.finish(recording, by: reason == .moved ? .moved : .room) }
        for stream in last.outputs.streams.running { stream.finish() }
        last.engine.close()
        statistics.ended(at: MonotonicClock.now())
        watch.ended(id, reason)
    }

    /// Ends a room that has lost its place to a newcomer's, unless somebody uses it by now, or has come into it where
    /// it was empty.
    func endDisplaced(_ id: String, wasEmpty: Bool) {
        guard let room = registry[id] else { return }
        end(id, reason: .roomEnded) { _ in
            guard registry.mayEndDisplaced(room, wasEmpty: wasEmpty) else { return false }
            log.displaced(room: id)
            return true
        }
    }

    // MARK: - What outlives rooms

    /// Takes over what an earlier run of the server has left.
    func readFile(at now: Instant, _ date: Date = Date()) {
        for entry in file?.read() ?? [] where Names.isRoom(entry.room) {
            let life = entry.until.map { Duration.seconds(min(max($0.timeIntervalSince(date), 0), 1e8)) }
            registry.keep(entry.kept, of: entry.room, hostsLife: life ?? Hosts.keep, at: now)
        }
    }

    /// Writes it for the next run, where it has changed. Called several times a second, on the control thread.
    func writeFile(at now: Instant, _ date: Date = Date()) {
        if let file, file.isDue(at: now) { file.write(entries(at: now, date)) }
    }

    /// Writes it at the end, with the rooms as they are. A disk that does not answer keeps nobody from ending.
    func closeFile() async {
        guard let file else { return }
        file.write(entries(at: MonotonicClock.now(), Date()))
        await file.flush()
    }

    private func entries(at now: Instant, _ date: Date) -> [RoomsFile.Entry] {
        let open = registry.rooms.compactMap { room in
            room.read(\.room.kept).flatMap { $0.isEmpty ? nil : RoomsFile.Entry(room: room.id, $0, until: nil) }
        }
        return open
            + registry.allKept(at: now).map { kept in
                RoomsFile.Entry(room: kept.id, kept.room, until: date + kept.hostsLife.inSeconds)
            }
    }

    // MARK: - Changing

    /// Changes a room by `body` and sends the events that follow, in order.
    @discardableResult
    func change<Result>(
        _ id: String, _ body: (inout RoomRecord) throws(ConferenceError) -> Result
    ) throws(ConferenceError) -> Result {
        guard let room = registry[id], let result = try change(room, body) else { throw .roomNotFound(id) }
        return result
    }

    /// The same for the room of a participant.
    func changeRoom<Result>(
        of participant: String, _ body: (inout RoomRecord) throws(ConferenceError) -> Result
    ) throws(ConferenceError) -> Result {
        guard let room = registry.room(of: participant), let result = try change(room, body) else {
            throw .participantNotFound(participant)
        }
        return result
    }

    /// The same; returns nil where the room has ended.
    func change<Result>(
        _ room: LiveRoom, _ body: (inout RoomRecord) throws(ConferenceError) -> Result
    ) throws(ConferenceError) -> Result? {
        try room.change { slot throws(ConferenceError) in
            slot.room.layoutsWithPresentingRules = layouts.namesWithPresentingRules
            let old = slot.room
            slot.room.isSparing = isSparing.load(ordering: .relaxed)
            let result = try body(&slot)
            if slot.room.settings.admit == .anyone, !slot.room.waiting.isEmpty {
                // Those who were removed wait for a moderator in every room.
                for person in slot.room.waiting.people where !person.wasRemoved {
                    endWaits(slot.room.admit(person.id, at: MonotonicClock.now()), .admitted, &slot)
                }
            }
            endScreenPeers(&slot)
            endInputs(&slot)
            endGroups(&slot, since: old)
            publish(&slot, since: old)
            return result
        }
    }

    // MARK: - Screens

    /// Ends the peers of screens that are not of a member any more: it has left, presents no more, or has another one.
    private func endScreenPeers(_ slot: inout RoomRecord) {
        for (peer, screen) in slot.audience.screens where slot.room.member(screen.participant)?.screenPeer?.id != peer {
            slot.audience.screens[peer] = nil
            registry.removeSeat(peer)
            media.peers.leave(peer)
            control.post { screen.ended() }
        }
    }

    // MARK: - Inputs

    /// Ends the inputs whose participants have left.
    private func endInputs(_ slot: inout RoomRecord) {
        if slot.outputs.inputs.isEmpty { return }
        let room = slot.room
        tell(slot.endInputs { room.member($0) == nil }, of: room)
    }

    // MARK: - Breakout groups

    /// Ends the recordings and the chats of groups that are over.
    private func endGroups(_ slot: inout RoomRecord, since old: Room) {
        if old.breakout?.isOpen == true, slot.room.breakout == nil { slot.history.forgetGroups() }
        for recording in slot.outputs.running where recording.group != .main && !slot.room.hasOpen(recording.group) {
            _ = slot.end(recording.id)
            recordings.finish(recording, by: .room)
        }
    }

    /// Tells each member of `old` what has changed for it about breakout groups.
    private func announceBreakout(_ slot: RoomRecord, _ change: RoomChange) {
        if change.old.breakout == nil, change.new.breakout == nil { return }
        let now = MonotonicClock.now()
        let (before, info) = (change.old.breakoutInfo(at: now), change.new.breakoutInfo(at: now))
        let known = change.membersBefore
        for member in change.new.members {
            guard let was = known[member.id] else { continue }
            let notice = change.new.breakoutNotice(for: member, info)
            if change.old.breakoutNotice(for: was, before) != notice { notify(slot, member.id, .breakout(notice)) }
        }
    }

    /// Tells each member of `old` the recordings that show it, where these are others than before.
    private func announceRecordings(_ slot: RoomRecord, _ change: RoomChange) {
        if change.isSameBreakout, change.old.recordings == change.new.recordings { return }
        announce(slot, change, to: { $0.place(of: $1) }, { $0.recordings(of: $1) }) {
            .recording($0.shown, all: $0)
        }
    }

    /// Tells each member of `old` the dominant speaker of those whom it sees now, where that is another one.
    private func announceSpeakers(_ slot: RoomRecord, _ change: RoomChange) {
        if change.isSameSpeakers, change.isSameBreakout { return }
        announce(slot, change, to: { $0.watched(by: $1) }, { $0.speaker(for: $1) }) { .speaker($0) }
    }

    /// Tells each member of `old` a value that is another one for it than before. Those of one `group` have the same
    /// value, and share an event.
    private func announce<Value: Equatable>(
        _ slot: RoomRecord, _ change: RoomChange, to group: (Room, Member) -> GroupID,
        _ value: (Room, Member) -> Value, _ event: (Value) -> ParticipantEvent
    ) {
        let known = change.membersBefore
        var events: [GroupID: SharedEvent] = [:]
        for member in change.new.members {
            guard let was = known[member.id], let listener = slot.audience.listeners[member.id] else {
                continue
            }
            let now = value(change.new, member)
            if value(change.old, was) == now { continue }
            let group = group(change.new, member)
            let shared = events[group] ?? SharedEvent(event(now))
            events[group] = shared
            put(shared, in: listener.mailbox)
        }
    }

    // MARK: - Waiting

    /// Tells clients that their waits have ended, which the room's list has forgotten.
    func endWaits(_ ids: [String], _ end: WaitingEnd, _ slot: inout RoomRecord) {
        let room = slot.room.id
        for id in ids { slot.audience.waiters.removeValue(forKey: id).map { endWait(id, room, $0, end) } }
    }

    private func endWait(_ id: String, _ room: String, _ waiter: RoomAudience.Waiter, _ end: WaitingEnd) {
        registry.releaseWait(Capacity.Wait(id: id, room: room))
        control.post { waiter.decided(end) }
    }

    /// Tells moderators who waits: those who have become one, and all where the list has changed.
    private func announceWaiting(_ slot: RoomRecord, _ change: RoomChange) {
        let people = change.new.waiting.people
        let isChanged = change.old.waiting.people != people
        if !isChanged, people.isEmpty { return }
        let known = change.membersBefore
        for member in change.new.members where member.permits(.admit) {
            let isNew = known[member.id]?.permits(.admit) != true
            if isChanged || isNew { notify(slot, member.id, .waiting(people)) }
        }
    }

    private func publish(_ slot: inout RoomRecord, since old: Room) {
        if old.kept != slot.room.kept { file?.changed() }
        let change = RoomChange(from: old, to: slot.room)
        if !change.isSameMembers || !change.isSameBreakout || !change.isSameSpeaking { announce(&slot) }
        if old.hasPeople != slot.room.hasPeople {
            let now = MonotonicClock.now()
            for recording in slot.outputs.running { recording.rest(!slot.room.hasPeople, at: now) }
        }
        announceSpeakers(slot, change)
        announceRecordings(slot, change)
        if !change.isSameInGroups { announceBreakout(slot, change) }
        for event in slot.room.events(since: old) { notifyAll(slot, event) }
        tell(slot.audience.feed.changes(change), of: slot.room, isPrivate: old.settings.isPrivate)
        if !change.isSameInGroups {
            tell(slot.audience.feed.breakout(from: old, to: slot.room, at: MonotonicClock.now()), of: slot.room)
        }
        announceWaiting(slot, change)
        for (was, member) in change.changedMembers { follow(was, member, in: slot) }
        if !change.isSamePictures { announceLayouts(slot, change) }
        for recording in slot.outputs.running { recording.follow(slot.room, since: old) }
        if change.leavesOutMore { slot.outputs.forgetPreRoll() }
        slot.outputs.updatePreRoll(of: slot.room, recordings.preRoll, recordings.preRollMemory, slot.engine)
        slot.outputs.updateHLS(of: slot.room, hls, slot.engine)
        let scene = slot.scene(layout: layoutOrGrid)
        let reshaped = slot.engine.apply(scene)
        slot.outputs.preRoll?.attach()
        slot.outputs.hls?.attach()
        slot.tiles = slot.tiles.filter { scene.views[$0.key] != nil }
        let moved = change.movedViews
        for (id, view) in moved {
            if let tiles = slot.tiles[view] { notify(slot, id, .tiles(tiles)) }
        }
        if reshaped || !moved.isEmpty || !change.isSameBreakout {
            media.peers.everywhere { [id = slot.room.id] host, now in host.refresh(id, at: now) }
        }
        // Who was moved has no tile until the next tick, whose tiles say what each one has to send.
        if change.isSameBreakout { updateLimits(&slot) }
    }

    /// Tells a member and its loop what is another for it now.
    private func follow(_ was: Member, _ member: Member, in slot: RoomRecord) {
        if was.role != member.role || member.hostKey != nil && was.hostKey != member.hostKey {
            notify(slot, member.id, .role(member.role, hostKey: member.hostKey?.text))
        }
        if was.maySendMessages != member.maySendMessages {
            media.peers.run(member.id) { [id = member.id, maySendMessages = member.maySendMessages] host, _ in
                host.setMaySendMessages(id, maySendMessages)
            }
        }
        if was.claims != member.claims {
            media.peers.run(member.id) { [id = member.id, claims = member.claims] host, _ in
                host.setClaims(id, claims)
            }
        }
    }

    /// The same for a change of who speaks, which comes several times a second and changes nothing else.
    private func publishSpeech(_ slot: inout RoomRecord, since old: Room) {
        if old.speech == slot.room.speech { return }
        let change = RoomChange(from: old, to: slot.room, isOfSpeech: true)
        if !change.isSameSpeaking { announce(&slot) }
        announceSpeakers(slot, change)
        tell(slot.audience.feed.changes(change), of: slot.room)
        for recording in slot.outputs.running { recording.follow(slot.room, since: old) }
        slot.engine.apply(slot.room.sceneSpeech)
    }

    /// Tells each member of `old` whose picture has another layout now, or is of another view.
    private func announceLayouts(_ slot: RoomRecord, _ change: RoomChange) {
        let (before, now) = (change.old.pictures, change.new.pictures)
        let chooser = change.new.layoutChooser(since: change.old)
        let known = change.membersBefore
        var events: [ViewID: SharedEvent] = [:]
        for member in change.new.members {
            let view = now.view(of: member)
            let shown = now.shown(view)
            guard let was = known[member.id], before.shown(before.view(of: was)) != shown,
                let listener = slot.audience.listeners[member.id]
            else { continue }
            let event = events[view] ?? SharedEvent(.layout(shown, by: shown.scope == .room ? chooser : nil))
            events[view] = event
            put(event, in: listener.mailbox)
        }
    }

    /// Announces changed members now, or together with the other changes of the next quarter of a second.
    private func announce(_ slot: inout RoomRecord) {
        let room = slot.room
        switch slot.audience.announcer.changed({ room.infos }, at: MonotonicClock.now()) {
        case .announce(let update): announce(update, &slot)
        case .wait(let due): control.post(at: due) { [weak self, id = room.id] in self?.announceDeferred(id) }
        case .nothing: break
        }
    }

    private func announceDeferred(_ id: String) {
        _ = try? registry[id]?.change(keepsState: true) { slot throws(ConferenceError) in
            let room = slot.room
            if let update = slot.audience.announcer.announcement(of: { room.infos }, at: MonotonicClock.now()) {
                announce(update, &slot)
            }
        }
    }

    private func announce(_ update: RosterUpdate, _ slot: inout RoomRecord) {
        notifyAll(slot, .participants(update))
        tell(slot.audience.feed.announced(update.everyone), of: slot.room)
    }

    /// Publishes server events of a room.
    ///
    /// - Parameter isPrivate: whether the room was private before the change that they report.
    func tell(_ happenings: [ServerEvent.Happening], of room: Room, isPrivate: Bool = false) {
        let isPrivate = isPrivate || room.settings.isPrivate
        for happening in happenings {
            events.publish(happening, room: room.id, isPrivate: isPrivate && happening.saysWhoIsThere)
        }
    }

    private func updateLimits(_ slot: inout RoomRecord) {
        let limits = slot.newLimits()
        if limits.isEmpty { return }
        for (id, limits) in limits {
            var own = limits
            if let screen = slot.room.member(id)?.screenPeer?.id {
                own.screen = SenderLimit(rate: .zero)
                let its = SenderLimits(camera: limits.screen)
                media.peers.run(screen) { host, now in host.setReceiveLimits(its, of: screen, at: now) }
            }
            media.peers.run(id) { [own] host, now in host.setReceiveLimits(own, of: id, at: now) }
        }
    }

    /// The layout of a name; the grid replaces one that was deleted while in use.
    func layoutOrGrid(_ name: String) -> Layout? { layouts[name] ?? layouts["grid"] }

    func checkLayout(_ name: String?) throws(ConferenceError) {
        if let name, layouts[name] == nil { throw .unknownLayout(name) }
    }

    /// Throws where one of the layouts of a room's settings does not exist.
    func checkLayouts(of change: RoomSettingsChange) throws(ConferenceError) {
        try checkLayout(change.layout)
        try checkLayout(change.onPresent?.layout)
        for view in change.views.values { try checkLayout(view?.layout) }
    }

    /// Follows the server's load: at the level that takes the top rung away a call of two gets one picture for both, and
    /// keeps it until the load is over, so that it does not change back and forth.
    func follow(_ level: OverloadState.Level) {
        let wanted = level >= .noTopRung || level > .none && isSparing.load(ordering: .relaxed)
        guard isSparing.exchange(wanted, ordering: .relaxed) != wanted else { return }
        for room in registry.rooms where room.read(\.room.mayBeCallOfTwo) == true {
            _ = try? change(room) { _ throws(ConferenceError) in }
        }
    }

    /// Updates the rooms that use one of these layouts.
    func relayout(_ names: Set<String>) {
        for room in registry.rooms where room.read({ $0.room.uses(names) }) == true {
            // An empty change publishes the scene again, with the new layout.
            _ = try? change(room) { _ throws(ConferenceError) in }
        }
    }

    func usesLayout(_ name: String) -> Bool { registry.rooms.contains { $0.read { $0.room.uses([name]) } == true } }

    // MARK: - Events to participants

    func notify(_ slot: RoomRecord, _ participant: String, _ event: ParticipantEvent) {
        if let mailbox = slot.audience.listeners[participant]?.mailbox { put(SharedEvent(event), in: mailbox) }
    }

    /// - Parameter isReceiver: whether a participant gets the event.
    func notifyAll(
        _ slot: RoomRecord, _ event: ParticipantEvent,
        where isReceiver: (String, RoomAudience.Listener) -> Bool = { _, _ in true }
    ) {
        let shared = SharedEvent(event)
        for (id, listener) in slot.audience.listeners where isReceiver(id, listener) {
            put(shared, in: listener.mailbox)
        }
    }

    func notify(_ participant: String, _ event: ParticipantEvent) {
        registry.room(of: participant)?.read { notify($0, participant, event) }
    }

    private func put(_ event: SharedEvent, in mailbox: EventMailbox) {
        if mailbox.put(event) { deliver(mailbox) }
    }

    private func deliver(_ mailbox: EventMailbox) {
        control.post { [weak self] in if mailbox.run() { self?.deliver(mailbox) } }
    }

    // MARK: - Events of media (on the control thread)

    private func tilesChanged(_ room: String, _ view: ViewID, _ tiles: TilesInfo) {
        _ = try? registry[room]?.change(keepsState: true) { slot throws(ConferenceError) in
            // A view that has just ended may still report.
            guard slot.tiles[view] != tiles, view == .main || slot.usedViews.contains(view) else { return }
            slot.tiles[view] = tiles
            let shared = SharedEvent(.tiles(tiles))
            for (id, its) in slot.room.views where its == view {
                if let listener = slot.audience.listeners[id] { put(shared, in: listener.mailbox) }
            }
            updateLimits(&slot)
        }
    }

    /// What a participant says to send and the server does not get.
    func missing(_ kinds: MediaKinds, of participant: String) {
        // Mostly nothing is, at the first report of each connection, and nothing changes.
        let known = registry.room(of: participant)?.read { $0.room.member(participant)?.notReceived } ?? nil
        guard known != nil, known != kinds else { return }
        _ = try? changeRoom(of: participant) { slot throws(ConferenceError) in
            slot.room.setMissing(kinds, of: participant)
        }
    }

    private func speakersChanged(_ room: String, _ group: GroupID, _ speakers: Speakers) {
        _ = try? registry[room]?.change(keepsState: true) { slot throws(ConferenceError) in
            let old = slot.room
            slot.room.speakers(speakers, in: group)
            publishSpeech(&slot, since: old)
        }
    }
}
