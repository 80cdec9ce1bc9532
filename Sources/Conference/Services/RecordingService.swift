import Basics
import FoundationEssentials
import Logging
import Recording
import RoomMedia
import Threads

/// Starts, ends and lists recordings of rooms.
package final class RecordingService: Sendable {
    /// The most recordings that one call of `list` returns.
    package static let maxAtOnce = 1000
    /// As many does `list` return by itself.
    package static let usualNumber = 100
    /// The longest text of a mark in bytes.
    static let longestMark = 200

    /// The longest title in bytes.
    static let longestTitle = 200

    let control: RecordingControl
    /// Makes thumbnails, one at a time, apart from what else waits for the disk; each takes about a tenth of a second.
    let thumbnails = DiskLane("thumbnails", most: 32, limit: .seconds(10))
    private let configuration: ConferenceConfiguration
    private let rooms: RoomService
    private let thread: ControlThread
    private let overload: OverloadState
    private let statistics: ServerStatistics
    private let logger: Logger
    let log: RoomLog

    init(
        _ configuration: ConferenceConfiguration, control: RecordingControl, rooms: RoomService, thread: ControlThread,
        overload: OverloadState, statistics: ServerStatistics, logger: Logger, log: RoomLog
    ) {
        self.configuration = configuration
        self.control = control
        self.rooms = rooms
        self.thread = thread
        self.overload = overload
        self.statistics = statistics
        self.logger = logger
        self.log = log
    }

    // MARK: - Starting

    /// Starts a recording of a room. The file is created at once, so that an unwritable directory throws here.
    ///
    /// - Parameters:
    ///   - wish: nil: the room's usual recording, beside which none may run yet.
    ///   - participant: the one who starts it; nil: an administrator or the configuration.
    ///   - series: the recording of another server with which this one goes on; nil: none.
    @discardableResult
    func start(
        _ room: String, _ wish: RecordingRequest?, by participant: String?, continuing series: RecordingSeries? = nil
    ) async throws(ConferenceError) -> RecordingInfo {
        do throws(ConferenceError) {
            let info = try await begin(room, wish, by: participant, continuing: series)
            log.recordingStarted(info, by: participant)
            return info
        } catch {
            log.recordingRefused(error, room: room, by: participant)
            throw error
        }
    }

    /// The same for an administrator, or as the configuration says.
    @discardableResult
    package func start(
        _ room: String, _ wish: RecordingRequest? = nil
    ) async throws(ConferenceError) -> RecordingInfo { try await start(room, wish, by: nil) }

    private func begin(
        _ room: String, _ wish: RecordingRequest?, by participant: String?, continuing series: RecordingSeries?
    ) async throws(ConferenceError) -> RecordingInfo {
        let known = rooms.registry[room]?.read { (settings: $0.room.settings, running: Self.beside(wish, $0)) }
        guard let known else { throw .roomNotFound(room) }
        if let view = wish?.view, !known.settings.hasView(view) {
            throw .unknownView(view, known: known.settings.viewNames)
        }
        let group = try recordedGroup(wish, in: room)
        if rooms.registry.isDraining { throw .draining }

        let most = wish == nil ? 1 : max(1, configuration.recording.perRoom)
        try control.beginStart(room, beside: known.running, most: most, at: MonotonicClock.now())
        defer { control.endStart(room) }
        // The disk works without the room's lock, on its own queue.
        let recording = try await makeRecording(
            room, known.settings, wish ?? RecordingRequest(), of: group, by: participant, continuing: series)
        do throws(ConferenceError) {
            if rooms.registry.isDraining { throw .draining }
            return try rooms.change(room) { slot throws(ConferenceError) in
                if slot.room.movingUntil != nil { throw .moving(room) }
                if Self.beside(wish, slot) >= most { throw .recordingRunning(room) }
                if recording.group != .main { try slot.room.requireOpen(recording.group) }
                // The picture may have changed while the file was created.
                let settings = slot.room.settings
                if let view = recording.view?.name,
                    !settings.hasView(view) || settings.format(ofView: view) != known.settings.format(ofView: view)
                {
                    throw .recordingFailed("The size of the picture changed just now: try again.")
                }
                slot.outputs.running.append(recording)
                // The view is in use before the recording takes it.
                _ = slot.engine.apply(slot.scene(layout: rooms.layoutOrGrid))
                // The names come before the media of those who have them.
                recording.follow(slot.room, since: nil)
                // A pre-roll that it does not take ends or goes on with the publishing of this change.
                slot.outputs.givePreRoll { recording.attach(to: slot.engine, taking: $0) }
                slot.room.recordings.append(recording.info.withoutTracks)
                slot.recordings.add(recording.id, startedBy: participant)
                return recording.info
            }
        } catch {
            Task { _ = await recording.finish() }
            throw error
        }
    }

    /// The recordings that count beside a new one: for the room's usual one those of breakout groups do not.
    private static func beside(_ wish: RecordingRequest?, _ slot: RoomRecord) -> Int {
        wish == nil ? slot.outputs.running.count { $0.group == .main } : slot.outputs.running.count
    }

    /// The open breakout group that a recording is to be of; nil: the room itself.
    private func recordedGroup(_ wish: RecordingRequest?, in room: String) throws(ConferenceError) -> RecordedGroup? {
        guard let number = wish?.group, number != 0 else { return nil }
        let group = try rooms.registry[room]?.read { slot throws(ConferenceError) in
            try slot.room.requireOpen(GroupID(number))
        }
        return group.map { RecordedGroup(number: number, name: $0.name) }
    }

    private func makeRecording(
        _ room: String, _ settings: RoomSettings, _ wish: RecordingRequest, of group: RecordedGroup?,
        by participant: String?, continuing series: RecordingSeries?
    ) async throws(ConferenceError) -> RoomRecording {
        let made: Result<RoomRecording, RecordingError>
        do throws(ConferenceError) {
            made = try await onDisk { [self] in
                Result { () throws(RecordingError) in
                    try makeRecordingNow(room, settings, wish, of: group, by: participant, continuing: series)
                }
            } late: { late in
                if case .success(let recording) = late { Task { _ = await recording.finish() } }
            }
        } catch {
            control.refuse(.disk)
            throw error
        }
        do throws(RecordingError) {
            return try made.get()
        } catch {
            logger.warning("no recording: \(error)", metadata: ["room": "\(room)"])
            switch error {
            case .lowSpace:
                control.refuse(.space)
                throw .atCapacity(error.publicDescription, retryAfter: .seconds(60))
            case .tooMany:
                control.refuse(.tooMany)
                throw .atCapacity(error.publicDescription, retryAfter: .seconds(60))
            default:
                control.refuse(.disk)
                throw .recordingFailed(error.publicDescription)
            }
        }
    }

    /// Called on the disk's lane.
    private func makeRecordingNow(
        _ room: String, _ settings: RoomSettings, _ wish: RecordingRequest, of group: RecordedGroup?,
        by participant: String?, continuing series: RecordingSeries?
    ) throws(RecordingError) -> RoomRecording {
        var view = wish.view.map { ViewID($0) } ?? settings.recordedView
        view.group = GroupID(group?.number ?? 0)
        let content = RecordingContent(
            audioOnly: wish.audioOnly, tracks: wish.tracks ?? configuration.recording.tracks)
        let top = Ladder(configuration.video.renditions, settings.format(ofView: view.name)).rungs[0]
        let catalogue = try control.readyCatalogue()
        try control.reserve.checkStart()
        let entry = try catalogue.begin(
            room: room, group: group, view: view.name, content: content, continuing: series)
        let id = entry.id
        do throws(RecordingError) {
            let recorder = try MP4Recorder(
                file: catalogue.path(of: entry), width: top.width, height: top.height,
                framesPerSecond: Double(top.framesPerSecond),
                audio: configuration.recording.audio == .aac ? .aac : .opus,
                limits: limits, content: content, disk: control.disk, reserve: control.reserve,
                memory: control.memory, labels: RecordingLabels(room: room, began: entry.beganAt),
                onKeyframeNeeded: { [weak self] in self?.control.alive[id]?.requestKeyframe() },
                onParts: { [weak self] in self?.control.alive[id]?.note($0) },
                onTracks: { [weak self] in self?.control.alive[id]?.note($0) },
                onFailure: { [weak self] error in
                    self?.thread.post { [weak self] in self?.recordingEnded(id, error) }
                })
            return RoomRecording(
                entry, of: content.audioOnly ? nil : view, framesPerSecond: top.framesPerSecond, content: content,
                startedBy: participant,
                recorder: recorder, catalogue: catalogue, control: control)
        } catch {
            catalogue.remove(id)
            throw error
        }
    }

    private var limits: RecordingLimits {
        let settings = configuration.recording
        return RecordingLimits(segment: settings.segment, length: settings.maxLength, size: settings.maxSize)
    }

    // MARK: - Running recordings

    @discardableResult
    package func pause(_ id: String) throws(ConferenceError) -> RecordingInfo {
        try changeRecording(id) { $0.pause(at: MonotonicClock.now()) }
    }

    @discardableResult
    package func resume(_ id: String) throws(ConferenceError) -> RecordingInfo {
        try changeRecording(id) { $0.resume(at: MonotonicClock.now()) }
    }

    /// Sets a mark in a running recording, which becomes a chapter; for an administrator.
    package func mark(_ id: String, _ text: String) throws(ConferenceError) { try mark(id, text, by: nil) }

    /// The same.
    ///
    /// - Parameter participant: the one who sets it; nil: an administrator.
    func mark(_ id: String, _ text: String, by participant: String?) throws(ConferenceError) {
        let title = text.trimmingWhitespace()
        let isPlain = !title.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard !title.isEmpty, title.utf8.count <= Self.longestMark, isPlain else {
            throw .badRequest("a mark has 1 to \(Self.longestMark) bytes of text on one line")
        }
        guard let room = rooms.registry[try roomOfRecording(id)], let found = room.read({ $0.recording(id) }),
            let recording = found
        else { throw .recordingNotRunning(id) }
        if let wait = recording.mark(title, by: participant, at: MonotonicClock.now()) {
            throw .tooFast("Too many marks are set.", retryAfter: wait)
        }
    }

    private func roomOfRecording(_ id: String) throws(ConferenceError) -> String {
        let room = rooms.registry.rooms.first { $0.read { $0.recording(id) != nil } == true }?.id
        if let room { return room }
        throw recording(id) == nil ? .recordingNotFound(id) : .recordingNotRunning(id)
    }

    private func changeRecording(
        _ id: String, _ body: (RoomRecording) -> RecordingInfo
    ) throws(ConferenceError) -> RecordingInfo {
        try rooms.change(try roomOfRecording(id)) { slot throws(ConferenceError) in
            guard let recording = slot.recording(id),
                let index = slot.room.recordings.firstIndex(where: { $0.id == id })
            else { throw .recordingNotFound(id) }
            let info = body(recording)
            slot.room.recordings[index] = info.withoutTracks
            return info
        }
    }

    /// Logs losses of slow disks, ends all recordings when the disk gets full, and those of rooms that everyone has left.
    /// Called several times a second, on the control thread.
    func watch(at now: Instant) {
        guard statistics.startIfDue(.recordings, every: .seconds(1), at: now) else { return }
        if statistics.startIfDue(.lossLog, every: .seconds(10), at: now), let text = control.newLosses() {
            logger.warning("\(text)")
        }
        if statistics.startIfDue(.retention, every: .seconds(10), at: now) { control.removeOld() }
        control.checkSpace { [weak self] error in
            self?.thread.post { [weak self] in
                guard let self else { return }
                for id in control.alive.keys { recordingEnded(id, error) }
            }
        }
        for recording in control.alive.values {
            recording.noteLosses()
            recording.noteOverload(overload.level >= .halfRate, at: now)
            endIfDeserted(recording, at: now)
        }
    }

    /// Ends the recording of a room in which nobody has been for `rooms.emptyTimeout`: rooms of the API stay, and the
    /// next ones in it are of another meeting. A recording that waits for a room's first participant goes on.
    private func endIfDeserted(_ recording: RoomRecording, at now: Instant) {
        let timeout = configuration.rooms.emptyTimeout
        guard now - recording.startedAt >= timeout else { return }
        let isEnded = try? rooms.change(recording.info.room) { slot throws(ConferenceError) -> Bool in
            guard !slot.isUnused, slot.room.isAbandoned(after: timeout, at: now) else { return false }
            return slot.end(recording.id) != nil
        }
        if isEnded == true { control.finish(recording) }
    }

    // MARK: - Ending

    /// Stops a recording. Returns when its file is complete.
    @discardableResult
    package func stop(_ id: String) async throws(ConferenceError) -> RecordingInfo {
        if let known = recording(id), known.state == .finished || known.state == .failed { return known }
        let found = try rooms.change(try roomOfRecording(id)) { slot throws(ConferenceError) in
            guard let recording = slot.end(id) else { throw .recordingNotFound(id) }
            return recording
        }
        return await control.close(found)
    }

    /// Ends a recording after a failure such as a full disk: everyone gets an error event, the file is closed as far as
    /// possible, and the call goes on.
    private func recordingEnded(_ id: String, _ error: RecordingError) {
        guard let room = try? roomOfRecording(id) else { return }
        let found = try? rooms.change(room) { slot throws(ConferenceError) -> RoomRecording? in
            guard let recording = slot.end(id) else { return nil }
            recording.end(because: error)
            rooms.notifyAll(slot, .error(.recordingFailed(error.publicDescription)))
            return recording
        }
        if let found = found ?? nil { control.finish(found) }
    }

    /// Delivers a complete recording once more, or now. Returns before that is done.
    package func deliver(_ id: String) async throws(ConferenceError) -> RecordingInfo {
        guard control.deliveries.isOn else {
            throw .conflict("There is no program that delivers recordings: set recording.onFinished.")
        }
        guard let catalogue = control.catalogue, let entry = catalogue.entry(id) else { throw .recordingNotFound(id) }
        guard control.alive[id] == nil, entry.state == .finished || entry.state == .failed else {
            throw .conflict("Recording “\(id)” is not complete yet: it is delivered when it is.")
        }
        if entry.delivery?.state == .running { return RecordingInfo(entry) }
        let stored = try await onDisk { () -> RecordingEntry? in
            catalogue.files(of: entry).isEmpty
                ? nil : (try? catalogue.setDelivery(RecordingDelivery(), of: id)) ?? entry
        } late: { [control] stored in
            if let stored { control.deliveries.add(stored) }
        }
        guard let stored else { throw .conflict("The files of recording “\(id)” are not on this server any more.") }
        control.deliveries.add(stored)
        return RecordingInfo(stored)
    }

    /// Removes a complete recording with all its files, its timeline and its entry, whether it was delivered or not.
    package func remove(_ id: String) async throws(ConferenceError) {
        while true {
            switch try await onDisk({ [control] in control.remove(id) }) {
            case .done: return
            case .again: continue
            case .unknown: throw .recordingNotFound(id)
            case .busy:
                throw .conflict(
                    "Recording “\(id)” is being written or delivered: stop it first, or try again when that has ended.")
            case .failed(let error): throw .recordingFailed(error.publicDescription)
            }
        }
    }

    /// Gives a complete recording a title; nil takes it away.
    package func rename(_ id: String, to title: String?) async throws(ConferenceError) -> RecordingInfo {
        let title = title?.trimmingWhitespace()
        let isPlain = title.map { $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } } ?? true
        guard isPlain, title.map({ $0.utf8.count <= Self.longestTitle }) ?? true else {
            throw .badRequest("title: at most \(Self.longestTitle) bytes of text on one line")
        }
        guard let catalogue = control.catalogue, catalogue.entry(id) != nil else { throw .recordingNotFound(id) }
        guard !control.busy.contains(id) else {
            throw .conflict(
                "Recording “\(id)” is being written: stop it first, or try again when its file is complete.")
        }
        let stored = try await onDisk {
            Result { () throws(RecordingError) in
                try catalogue.setTitle(title.flatMap { $0.isEmpty ? nil : $0 }, of: id)
            }
        }
        do throws(RecordingError) {
            guard let entry = try stored.get() else { throw .unknown(id: id) }
            return RecordingInfo(entry)
        } catch .unknown {
            throw .recordingNotFound(id)
        } catch {
            throw .recordingFailed(error.publicDescription)
        }
    }

    /// The path of a complete recording's small picture, which is made where there is none; not for clients.
    package func thumbnailPath(of id: String) async throws(ConferenceError) -> String {
        guard let catalogue = control.catalogue, let entry = catalogue.entry(id) else { throw .recordingNotFound(id) }
        if entry.audioOnly == true || control.busy.contains(id) { throw .recordingNotFound(id) }
        let made: Result<String, RecordingError>
        do throws(DiskLane.Refusal) {
            made = try await thumbnails.run {
                Result { () throws(RecordingError) in try RecordingThumbnail.make(of: entry, in: catalogue) }
            }
        } catch .full {
            throw .atCapacity("Too many thumbnails are being made: try again later.", retryAfter: .seconds(2))
        } catch {
            throw .noAnswer(ofDisk: "recordings")
        }
        do throws(RecordingError) {
            return try made.get()
        } catch {
            logger.info("no thumbnail: \(error)", metadata: ["recording": "\(id)"])
            throw .recordingNotFound(id)
        }
    }

    /// Runs a job on the disk's lane, for a request.
    private func onDisk<Value: Sendable>(
        _ job: @escaping @Sendable () -> Value, late: (@Sendable (Value) -> Void)? = nil
    ) async throws(ConferenceError) -> Value {
        do throws(DiskLane.Refusal) { return try await control.lane.run(job, late: late) } catch {
            throw .noAnswer(ofDisk: "recordings")
        }
    }

    // MARK: - Lists

    /// The recordings, the newest first; with `before` those that began before that one.
    package func list(before id: String? = nil, limit: Int = usualNumber) -> [RecordingInfo] {
        let alive = control.alive
        let entries = control.catalogue?.list(before: id, limit: min(max(1, limit), Self.maxAtOnce)) ?? []
        return entries.map { alive[$0.id]?.info ?? RecordingInfo($0) }
    }

    package func recording(_ id: String) -> RecordingInfo? {
        control.alive[id]?.info ?? control.catalogue?.entry(id).map { RecordingInfo($0) }
    }

    /// The path of a recording's file; not for clients.
    ///
    /// - Parameter part: from 1 on; a recording that still runs has its complete parts, and its first one.
    package func path(of id: String, part: Int = 1) throws(ConferenceError) -> String {
        if let running = control.alive[id], let path = part == 1 ? running.path : running.path(ofPart: part) {
            return path
        }
        guard let catalogue = control.catalogue, let entry = catalogue.entry(id),
            let path = catalogue.path(of: entry, part: part)
        else { throw .recordingNotFound(id) }
        return path
    }

    /// The path of the file of a track, from 1 on; not for clients.
    package func path(of id: String, track: Int) throws(ConferenceError) -> String {
        if let path = control.alive[id]?.path(ofTrack: track) { return path }
        guard let catalogue = control.catalogue, let entry = catalogue.entry(id),
            let path = catalogue.path(of: entry, track: track)
        else { throw .recordingNotFound(id) }
        return path
    }

    /// The path of a complete recording's timeline, as JSON or WebVTT; not for clients.
    package func timelinePath(of id: String, asText: Bool) throws(ConferenceError) -> String {
        guard let catalogue = control.catalogue, catalogue.entry(id) != nil else { throw .recordingNotFound(id) }
        return catalogue.timelinePath(of: id, asText: asText)
    }
}
