package import Basics
import FoundationEssentials
package import Logging
import Mixing
import Recording
import RoomMedia
import Sockets
import Threads

/// A conference server without its endpoints: rooms, participants, their media, recordings.
///
/// This class is the interface; services do the work: rooms and seats (`RoomService`, `SeatService`), peers
/// (`PeerService`), layouts, recordings. Each room has a lock of its own, which no thread holds while it waits. All
/// rooms share only the registry, whose lock is held for a look-up or a count. `MediaThreads` has the media's threads;
/// the control thread handles the events of media and time, and calls the endpoints.
package final class Conference: Sendable {
    /// The most recordings that one call of `recordings` returns, and its default.
    package static let maxRecordingsAtOnce = RecordingService.maxAtOnce
    package static let recordingsAtOnce = 100

    package let configuration: ConferenceConfiguration
    let media: MediaThreads
    let roomService: RoomService
    let hls: HLSControl
    let seats: SeatService
    let peers: PeerService
    let recordingService: RecordingService
    let streamService: StreamService
    let chat: ChatService
    let moderation: ModerationService
    let breakouts: BreakoutService
    let waiting: WaitingService
    let inputs: InputService
    let moves: MoveService
    let capacity = Guarded(CapacityMeter())
    let control = ControlThread()
    /// What happens on the server, for programs that follow it.
    package let events = EventBus()
    let statistics = ServerStatistics()
    /// The rooms that have series of their own in the metrics.
    let busiestRooms: Guarded<BusiestRooms>
    private let layoutService: LayoutService
    let avatars: AvatarService
    let disks: DiskWatch
    private let snapshots: Snapshots
    private let logger: Logger
    var registry: RoomRegistry { roomService.registry }

    /// Binds the media ports and reads the layouts. No thread runs before `start`.
    package convenience init(_ configuration: ConferenceConfiguration, logger: Logger) throws(ConferenceError) {
        try self.init(configuration, logger: logger, disk: .system, diskTimeout: .seconds(5))
    }

    /// - Parameters:
    ///   - disk: the recordings' disk; tests have one that can hang.
    ///   - diskTimeout: how long a request waits for the disk of its folder.
    init(
        _ configuration: ConferenceConfiguration, logger: Logger, disk: RecordingDisk, diskTimeout: Duration
    ) throws(ConferenceError) {
        self.configuration = configuration
        self.logger = logger
        busiestRooms = Guarded(BusiestRooms(limit: configuration.roomsInMetrics))
        let mediaEvents = LoopEventForwarder(control)
        media = try MediaThreads(configuration, events: mediaEvents.loopEvents) { [statistics] text in
            statistics.encodeFailed(text, logger)
        }
        let layouts = LayoutLibrary(directory: configuration.layoutsDirectory)
        for fault in layouts.poll().faults { logger.warning("\(fault)") }
        let standard = configuration.rooms.settings
        let named =
            [standard.layout, standard.onPresent.layout].compactMap { $0 } + standard.views.values.compactMap(\.layout)
            + configuration.rooms.presets.layouts
        for name in named where layouts[name] == nil {
            throw .unknownLayout(name)
        }
        let log = RoomLog(logger)
        let recordings = RecordingControl(
            configuration.recording, disk: disk, answerTimeout: diskTimeout, logger: logger, events: events,
            log: log)
        hls = HLSControl(logger)
        roomService = RoomService(
            configuration, media: media, layouts: layouts, control: control, statistics: statistics,
            recordings: recordings, hls: hls, events: events, log: log,
            file: configuration.roomsFile.map { RoomsFile($0, logger: logger, limit: diskTimeout) })
        seats = SeatService(configuration, rooms: roomService, media: media, statistics: statistics, log: log)
        peers = try PeerService(configuration, registry: roomService.registry, loops: media.peers)
        waiting = WaitingService(rooms: roomService)
        moderation = ModerationService(rooms: roomService, seats: seats, waiting: waiting)
        breakouts = BreakoutService(configuration, rooms: roomService, seats: seats, overload: media.overload)
        inputs = InputService(configuration.inputs, rooms: roomService, seats: seats, control: control, log: log)
        avatars = AvatarService(
            AvatarStore(directory: configuration.avatarsDirectory, logger: logger, limit: diskTimeout),
            rooms: roomService)
        layoutService = LayoutService(
            layouts, rooms: roomService, settings: configuration.rooms.settings, logger: logger, limit: diskTimeout)
        recordingService = RecordingService(
            configuration, control: recordings, rooms: roomService, thread: control, overload: media.overload,
            statistics: statistics, logger: logger, log: log)
        streamService = StreamService(
            configuration, rooms: roomService, thread: control, statistics: statistics, log: log)
        moves = MoveService(
            rooms: roomService, seats: seats, recordings: recordingService, streams: streamService, inputs: inputs,
            log: log)
        snapshots = Snapshots(pool: media.pool, meter: media.meters.snapshot)
        chat = ChatService(
            configuration, rooms: roomService, peers: media.peers, control: control,
            pictures: PictureStore(configuration.pictures, logger: logger, limit: diskTimeout))
        disks = DiskWatch(
            [
                ("layouts", layoutService.lane), ("avatars", avatars.store.files), ("pictures", chat.pictures.lane),
                ("recordings", recordings.lane), ("thumbnails", recordingService.thumbnails.lane),
            ] + (roomService.file.map { [("rooms", $0.lane)] } ?? []), logger: logger)
        mediaEvents.set(roomService, seats, chat)
        registry.onDisplaced { [weak self] displaced in
            self?.control.post { [weak self] in self?.end(displaced) }
        }
    }

    /// The media addresses that were bound, with the ports that the system chose.
    package var mediaUDP: [SocketAddress] { media.peers.sockets.boundUDP }
    package var mediaTCP: [SocketAddress] { media.peers.sockets.boundTCP }

    /// Ends what has lost its place to a newcomer, on the control thread.
    private func end(_ displaced: Capacity.Displaced) {
        switch displaced {
        case .wait(let id, let room): waiting.displace(id, room)
        case .seat, .halfOpen, .room: seats.displace(displaced)
        }
    }

    // MARK: - Start and end

    /// Starts the threads. Recordings that a crash left open are repaired in the background.
    package func start() throws(ConferenceError) {
        SystemMemory.mapPictures()
        roomService.readFile(at: MonotonicClock.now())
        media.start()
        control.start { [weak self] now in self?.runHousekeeping(at: now) }
        recordingService.control.open()
        chat.pictures.open()
    }

    package var isDraining: Bool { registry.isDraining }
    /// Whether new rooms are refused.
    package var isOverloaded: Bool { media.overload.refusesRooms }

    /// Refuses joins, closes recordings and peers, and ends the threads. Waits for the recordings no longer than
    /// `limit`.
    package func drain(within limit: Duration) async {
        guard registry.drain() else { return }
        recordingService.control.stopRepairs()
        let running = registry.rooms.flatMap { $0.read(\.running) ?? [] }
        // The first of both counts: a disk that hangs must not keep the server from ending.
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let once = Once(continuation)
            Task {
                await withTaskGroup(of: Void.self) { stops in
                    stops.addTask { [self] in await recordingService.control.deliveries.drain() }
                    stops.addTask { [self] in await streamService.endAll() }
                    for recording in running { stops.addTask { [self] in _ = try? await stopRecording(recording.id) } }
                }
                once.resume(())
            }
            Task {
                try? await Task.sleep(for: limit)
                once.resume(())
            }
        }
        for room in registry.rooms {
            let isMoving = room.read { $0.room.movingUntil != nil } ?? false
            roomService.end(room.id, reason: isMoving ? .moved : .draining)
        }
        events.close()
        // The endpoints get their last events before the control thread ends; the peers' last datagrams leave in the
        // loops' last turn.
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            control.post { done.resume() }
        }
        control.stop()
        await roomService.closeFile()
        media.stop()
    }

    /// Runs every `ControlThread.period`, on the control thread.
    func runHousekeeping(at now: Instant) {
        seats.expire(at: now)
        if statistics.startIfDue(.waiting, every: .seconds(1), at: now) { waiting.expire(at: now) }
        if statistics.startReleaseIfDue(at: now) { SystemMemory.release() }
        if statistics.startIfDue(.snapshots, every: .seconds(1), at: now) { snapshots.forgetOld(at: now) }
        if statistics.startIfDue(.pictures, every: .seconds(10), at: now) { chat.expirePictures(at: now) }
        if statistics.startIfDue(.layouts, every: .seconds(1), at: now) { layoutService.poll() }
        if statistics.startIfDue(.disks, every: .seconds(1), at: now) { disks.look(at: now) }
        if statistics.startIfDue(.text, every: .seconds(30), at: now) { TextRenderer.shared.dropUnused() }
        moves.watch(at: now)
        roomService.writeFile(at: now)
        if statistics.startIfDue(.capacity, every: .seconds(1), at: now) {
            capacity.withLock { $0.take(media.work, at: now) }
        }
        recordingService.watch(at: now)
        streamService.watch(at: now)
        if configuration.savesWorkWhenOverloaded, statistics.startIfDue(.overload, every: .seconds(1), at: now),
            let level = media.overload.evaluate(at: now)
        {
            logger.warning("overload: \(level)")
            let overload = ServerEvent.Overload(level: level.rawValue, refusesRooms: level == .noNewRooms)
            events.publish(.overloadChanged(overload), room: nil)
            roomService.follow(level)
            let ceiling = level >= .noTopRung ? 1 : 0
            media.peers.everywhere { host, _ in host.setCeiling(ceiling) }
        }
    }

    // MARK: - Rooms

    /// All rooms, the oldest first.
    package func rooms() -> [RoomInfo] {
        registry.rooms.compactMap { $0.read(\.info) }.sorted { $0.createdAt < $1.createdAt }
    }
    package func room(_ id: String) -> RoomInfo? { registry[id]?.read(\.info) }
    /// Nothing but the settings: for what asks often.
    package func settings(of room: String) -> RoomSettings? { registry[room]?.read(\.room.settings) }

    /// Creates the room, or changes it where it exists. Returns the room and whether it is new.
    @discardableResult
    package func createRoom(_ id: String, _ change: RoomSettingsChange) throws(ConferenceError) -> (
        room: RoomInfo, isNew: Bool
    ) {
        try roomService.checkLayouts(of: change)
        let (room, isNew) = try roomService.room(id, orMakeWith: change, for: .administrator, isReserved: true)
        if isNew, let info = room.read(\.info) { return (info, true) }
        return (try updateRoom(id, change), false)
    }

    @discardableResult
    package func updateRoom(_ id: String, _ change: RoomSettingsChange) throws(ConferenceError) -> RoomInfo {
        try roomService.checkLayouts(of: change)
        return try roomService.change(id) { slot throws(ConferenceError) in
            try slot.apply(change)
            return slot.info
        }
    }

    /// Ends the room and the call of everyone in it. The next one of its name has other hosts.
    package func endRoom(_ id: String) throws(ConferenceError) {
        guard registry[id] != nil else { throw .roomNotFound(id) }
        roomService.end(id, reason: .roomEnded, isForgotten: true)
    }

    /// The current picture of one of the room's named views as PNG: one for all requests within half a second.
    package func snapshot(_ room: String, view name: String = ViewSettings.main) async throws(ConferenceError)
        -> [UInt8]
    {
        let view = ViewID(name)
        guard let engine = registry[room]?.engine else { throw .roomNotFound(room) }
        try roomService.change(room) { slot throws(ConferenceError) in
            try slot.room.requireView(name)
            slot.snapshots[view, default: 0] += 1
        }
        defer {
            _ = try? roomService.change(room) { slot throws(ConferenceError) in
                let left = (slot.snapshots[view] ?? 1) - 1
                slot.snapshots[view] = left > 0 ? left : nil
            }
        }
        return try await snapshots.png(of: room, view, engine)
    }

    // MARK: - Guest links

    /// The guest links of a room that are good, the oldest first.
    ///
    /// - Parameter participant: who asks, and must be a moderator; nil: an administrator.
    package func guestLinks(of room: String, for participant: String?) throws(ConferenceError) -> [GuestLink] {
        let links = try registry[room]?.read { slot throws(ConferenceError) in
            try slot.room.requireInviting(participant)
            return slot.room.links.good(at: Date())
        }
        guard let links else { throw .roomNotFound(room) }
        return links
    }

    package func makeGuestLink(
        _ wish: GuestLinkRequest, in room: String, for participant: String?
    ) throws(ConferenceError) -> GuestLink {
        if let participant { try seats.allow(.moderation, participant) }
        return try roomService.change(room) { slot throws(ConferenceError) in
            try slot.room.requireInviting(participant)
            return try slot.room.makeLink(wish, at: Date())
        }
    }

    package func revokeGuestLink(_ id: String, in room: String, for participant: String?) throws(ConferenceError) {
        if let participant { try seats.allow(.moderation, participant) }
        try roomService.change(room) { slot throws(ConferenceError) in
            try slot.room.requireInviting(participant)
            try slot.room.revokeLink(id, at: Date())
        }
    }

    /// Whether a guest link of a room that this server knows is good no more.
    package func isRevoked(guestLink id: String, of room: String) -> Bool {
        let known = registry[room]?.read(\.room.links) ?? registry.kept(room, at: MonotonicClock.now())?.room.links
        return known.map { links in !links.good(at: Date()).contains { $0.id == id } } ?? false
    }

    // MARK: - Participants

    /// Takes a seat in a room, which is created where it does not exist yet and the configuration allows that. `events`
    /// are delivered in order, on the control thread; the first may come before this returns.
    package func join(
        _ request: AdmittedJoin, events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> Participant {
        let request = try registry.checkRemovals(request, at: MonotonicClock.now())
        let joined = try seats.join(request, events: events)
        avatars.take(request.avatar, for: joined.id, in: request.room)
        if joined.startsRecording {
            // The join does not wait for the disk.
            Task { [self] in
                _ = try? await startRecording(request.room)
            }
        }
        return Participant(id: joined.id, room: request.room, resumeSecret: joined.resumeSecret, conference: self)
    }

    /// Waits to be let in by a moderator, where a join threw `ConferenceError.mustWait`. Who waits holds no seat and gets
    /// nothing of the room. Returns the wait's id.
    ///
    /// - Parameter decided: called once, on the control thread; the call may come before this returns.
    package func wait(
        for request: AdmittedJoin, _ decided: @escaping @Sendable (WaitingEnd) -> Void
    ) throws(ConferenceError) -> String {
        try waiting.wait(for: try registry.checkRemovals(request, at: MonotonicClock.now()), decided)
    }

    /// Ends a wait whose client has gone.
    package func stopWaiting(_ id: String, in room: String) { waiting.leave(id, room) }

    /// Tells the moderators of a room how many wrong PINs were tried at its door.
    package func reportPINTries(at room: String, wrong: Int) {
        registry[room]?.read { slot in
            for member in slot.room.members where member.permits(.setPIN) {
                roomService.notify(slot, member.id, .pinTries(wrong))
            }
        }
    }

    /// Takes a seat back after signalling was lost; a seat of another server by its ticket
    /// (`ConferenceConfiguration.seatSecrets`), as which the secret of the result may be another one.
    ///
    /// - Parameters:
    ///   - room: the room that the client named; nil: none.
    ///   - client: the client for whose limits a seat counts that this server has never seen.
    package func resume(
        id: String, secret: String, in room: String? = nil, for client: JoinClient = JoinClient(),
        events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> Participant {
        let joined = try seats.resume(id, secret: secret, in: room, for: client, events: events)
        avatars.take(joined.avatar, for: id, in: joined.room)
        return Participant(id: id, room: joined.room, resumeSecret: joined.resumeSecret, conference: self)
    }

    /// The participant with this secret, beside the endpoint that holds its seat: for requests that the client makes
    /// elsewhere.
    package func participant(_ id: String, secret: String, in room: String) throws(ConferenceError) -> Participant {
        // A room without this seat is not told from a room that does not exist.
        let known: Void? = try registry[room]?.read { slot throws(ConferenceError) in
            try seats.require(secret, of: id, in: slot.room)
        }
        guard known != nil else { throw .unauthorized("This seat is not kept any more: join anew.") }
        return Participant(id: id, room: room, resumeSecret: secret, conference: self)
    }

    /// Adds a connection that sends the screen of the participant with this secret, beside the one of its camera. It
    /// ends with the participant, with its presenting, and when the participant gets another one.
    ///
    /// - Parameters:
    ///   - client: who connects, for whose limits the connection counts as a seat.
    ///   - ended: called once it has ended for whatever reason, on the control thread.
    package func sendScreen(
        of id: String, secret: String, in room: String, for client: JoinClient, ended: @escaping @Sendable () -> Void
    ) throws(ConferenceError) -> ScreenSender {
        let participant = try participant(id, secret: secret, in: room)
        let peer = try seats.addScreenPeer(of: participant.id, in: room, for: client, ended: ended)
        return ScreenSender(id: peer, conference: self)
    }

    package func participant(_ id: String, in room: String) throws(ConferenceError) -> ParticipantInfo {
        let found = registry[room]?.read { slot in slot.room.member(id).map { slot.room.info($0) } }
        guard let found else { throw .roomNotFound(room) }
        guard let info = found else { throw .participantNotFound(id) }
        return info
    }

    @discardableResult
    package func updateParticipant(
        _ id: String, in room: String, _ change: ParticipantChange
    ) throws(ConferenceError) -> ParticipantInfo {
        try roomService.change(room) { slot throws(ConferenceError) in try slot.room.change(id, change) }
    }

    package func removeParticipant(_ id: String, in room: String) throws(ConferenceError) {
        _ = try participant(id, in: room)
        seats.leave(id, .removed)
    }

    /// Those who wait to be let in, the first comer first.
    package func waitingPeople(in room: String) throws(ConferenceError) -> [WaitingPerson] {
        guard let people = registry[room]?.read({ $0.room.waiting.people }) else { throw .roomNotFound(room) }
        return people
    }

    /// Decides about one who waits, for an administrator.
    package func decide(_ decision: WaitingDecision, about person: String, in room: String) throws(ConferenceError) {
        try roomService.change(room) { slot throws(ConferenceError) in
            switch decision {
            case .admit: try waiting.decide(.admitted, person, in: &slot)
            case .refuse: try waiting.decide(.refused, person, in: &slot)
            case .refuseAddress: try waiting.refuseAddress(of: person, in: &slot)
            }
        }
    }

    package func statistics(_ id: String, in room: String) async throws(ConferenceError) -> ParticipantStatistics {
        _ = try participant(id, in: room)
        guard let engine = registry[room]?.engine else { throw .roomNotFound(room) }
        return try await peers.statistics(id, engine)
    }

    // MARK: - Layouts

    package func layouts() -> [LayoutInfo] { layoutService.all }

    /// Gives a participant the avatar of a PNG or JPEG file; nil takes it away.
    package func setAvatar(_ file: [UInt8]?, of id: String, in room: String) async throws(ConferenceError) {
        try await avatars.set(file, of: id, in: room)
    }

    /// A participant's avatar as PNG, at most 256 pixels wide and high.
    package func avatar(of id: String, in room: String) async throws(ConferenceError) -> [UInt8] {
        try await avatars.png(of: id, in: room)
    }

    /// Stores an avatar for joins that name it (`JoinRequest.avatar`).
    package func storeAvatar(_ file: [UInt8], as name: String) async throws(ConferenceError) {
        try await avatars.store.store(file, as: name)
    }

    /// The file of a stored avatar.
    package func storedAvatar(_ name: String) async throws(ConferenceError) -> [UInt8] {
        try await avatars.store.file(name)
    }

    package func deleteStoredAvatar(_ name: String) async throws(ConferenceError) {
        try await avatars.store.delete(name)
    }

    /// Adds or replaces a layout at run time, after the same checks as a file's. Rooms that use it change at once.
    package func putLayout(_ name: String, json: [UInt8]) async throws(ConferenceError) {
        try await layoutService.put(name, json: json)
    }
    package func deleteLayout(_ name: String) async throws(ConferenceError) { try await layoutService.delete(name) }

    /// Checks what would be a layout of this name, as `putLayout` does.
    package func checkLayout(_ name: String, json: [UInt8]) async throws(ConferenceError) {
        try await layoutService.check(name, json: json)
    }

    /// Adds, replaces or (nil) removes a layout that the nodes of a cluster share. It takes precedence over a file of its
    /// name. Does not wait for the disk; the log tells the faults of one that cannot be used.
    package func shareLayout(_ name: String, json: [UInt8]?) { layoutService.share(name, json: json) }

    /// Returns when what `shareLayout` got is in use, or when the disk has not answered for too long.
    package func settleLayouts() async { await layoutService.settle() }

    /// - Throws: `layoutInUse` for a default of rooms, and for one that a room uses.
    package func checkUnusedLayout(_ name: String) throws(ConferenceError) { try layoutService.checkUnused(name) }

    // MARK: - Recordings

    /// Starts a recording of a room. The file is created at once, so that an unwritable directory throws here.
    @discardableResult
    ///
    /// - Parameter wish: nil: the recording that there is one of in each room; others run beside it and beside each
    ///   other.
    package func startRecording(_ room: String, _ wish: RecordingRequest? = nil) async throws(ConferenceError)
        -> RecordingInfo
    {
        try await recordingService.start(room, wish)
    }
    @discardableResult
    package func pauseRecording(_ id: String) throws(ConferenceError) -> RecordingInfo {
        try recordingService.pause(id)
    }
    @discardableResult
    package func resumeRecording(_ id: String) throws(ConferenceError) -> RecordingInfo {
        try recordingService.resume(id)
    }

    /// Returns when the file is complete.
    @discardableResult
    package func stopRecording(_ id: String) async throws(ConferenceError) -> RecordingInfo {
        try await recordingService.stop(id)
    }

    /// Delivers a complete recording once more, or now. Returns before that is done.
    package func deliverRecording(_ id: String) async throws(ConferenceError) -> RecordingInfo {
        try await recordingService.deliver(id)
    }

    /// Gives a complete recording a title; nil takes it away.
    package func renameRecording(_ id: String, to title: String?) async throws(ConferenceError) -> RecordingInfo {
        try await recordingService.rename(id, to: title)
    }

    /// The path of a complete recording's small picture (JPEG), which is made where there is none; not for clients.
    package func thumbnailPath(_ id: String) async throws(ConferenceError) -> String {
        try await recordingService.thumbnailPath(of: id)
    }

    /// Removes a complete recording with all its files.
    package func removeRecording(_ id: String) async throws(ConferenceError) { try await recordingService.remove(id) }

    /// The recordings, the newest first; with `before` those that began before that one.
    package func recordings(before id: String? = nil, limit: Int = recordingsAtOnce) -> [RecordingInfo] {
        recordingService.list(before: id, limit: limit)
    }
    package func recording(_ id: String) -> RecordingInfo? { recordingService.recording(id) }

    /// Sets a mark in a running recording, which becomes a chapter.
    package func markRecording(_ id: String, _ text: String) throws(ConferenceError) {
        try recordingService.mark(id, text)
    }

    /// The path of a complete recording's timeline, as JSON or WebVTT; not for clients. There may be no such file.
    package func timelinePath(_ id: String, asText: Bool) throws(ConferenceError) -> String {
        try recordingService.timelinePath(of: id, asText: asText)
    }

    /// The path of the file of a participant's track, from 1 on; not for clients.
    package func recordingPath(_ id: String, track: Int) throws(ConferenceError) -> String {
        try recordingService.path(of: id, track: track)
    }

    /// The path of a recording's file, of its first or another part; not for clients.
    package func recordingPath(_ id: String, part: Int = 1) throws(ConferenceError) -> String {
        try recordingService.path(of: id, part: part)
    }

    // MARK: - Pictures of chats

    /// Stores a picture outside of rooms: for endpoints with messages from person to person.
    ///
    /// - Parameters:
    ///   - address: the sender's, for whom it counts.
    ///   - isSent: a message has it already; otherwise it is deleted within a minute unless `keepPicture` follows.
    package func storePicture(
        _ bytes: [UInt8], from address: IPAddress?, isSent: Bool
    ) async throws(ConferenceError) -> ChatPicture {
        try await chat.pictures.store(
            bytes, try chat.pictures.place(for: bytes), of: PictureOwner(address: address),
            isSent ? .personal : .untilSent)
    }

    /// A message has sent a picture that was stored without one.
    package func keepPicture(_ id: String) { chat.pictures.keep(id) }

    /// The bytes of a stored picture.
    package func picture(_ id: String) async throws(ConferenceError) -> [UInt8] { try await chat.pictures.read(id) }

    /// The path of a picture's file, which may have been deleted; not for clients.
    package func picturePath(_ id: String) throws(ConferenceError) -> String { try chat.pictures.path(of: id) }
}
