import Basics
import Logging
import Recording
import RoomMedia
import Threads

/// The shared state of the server's recordings: the directory, the lane that waits for its disk, the reserve, and the
/// counts of refusals and losses.
final class RecordingControl: Sendable {
    enum Refusal: String, Sendable, CaseIterable { case rate, space, disk, tooMany = "too_many" }

    let reserve: DiskReserve
    let memory = RecordingMemory()
    /// For the pre-rolls of all rooms.
    let preRollMemory = RecordingMemory()
    let preRoll: Duration
    let disk: RecordingDisk
    let deliveries: RecordingDeliveries
    private let retention: RetentionControl
    private let directory: String
    private let node: String
    private let logger: Logger
    private let log: RoomLog
    private let events: EventBus
    /// Runs all disk operations except the recorders' own, in order. A start is refused where the disk does not answer
    /// within the lane's limit.
    let lane: DiskLane
    private let state: Guarded<State>

    private struct State {
        /// nil while the directory is unusable, which makes only recordings fail.
        var catalogue: RecordingCatalogue?
        var repairs: RecordingRepairs?
        /// Whether all that a crash left open in the directory is known.
        var hasFoundOpen = false
        var starts: RecordingStarts
        /// How many recordings of each room are being started.
        var starting: [String: Int] = [:]
        /// Recordings that run or are being closed, by id.
        var alive: [String: RoomRecording] = [:]
        var refused: [Refusal: Int] = [:]
        /// Losses of closed recordings.
        var lost = RecordingLosses()
        var lossesReported = 0
        var isCheckingSpace = false
        var isStopped = false
    }

    /// The most operations that wait for the disk, beside those of recordings that run or end.
    private static let mostWaiting = 256
    /// The lowest priority: repairs use only idle processor time.
    private static let repairNiceness: Int32 = 19

    init(
        _ configuration: ConferenceConfiguration.Recording, disk: RecordingDisk, answerTimeout: Duration,
        logger: Logger,
        events: EventBus, log: RoomLog
    ) {
        self.events = events
        lane = DiskLane("recordings", most: Self.mostWaiting, limit: answerTimeout)
        directory = configuration.directory
        node = configuration.node
        self.disk = disk
        preRoll = configuration.preRoll
        deliveries = RecordingDeliveries(configuration, logger: logger, events: events)
        retention = RetentionControl(configuration, logger: logger, events: events)
        self.logger = logger
        self.log = log
        reserve = DiskReserve(directory: configuration.directory, minimumFree: configuration.minimumFree, disk: disk)
        state = Guarded(State(starts: RecordingStarts(perMinute: configuration.startsPerMinute)))
    }

    // MARK: - Closing

    /// Closes a recording. Returns when its file is complete.
    func close(_ recording: RoomRecording, by end: RecordingEnd = .stopped) async -> RecordingInfo {
        let info = await recording.finish(by: end)
        log.recordingEnded(info)
        events.publish(
            info.state == .failed ? .recordingFailed(info) : .recordingFinished(info), room: info.room)
        if let entry = catalogue?.entry(info.id) { deliveries.add(entry) }
        return info
    }

    /// The same without waiting, for rooms that end.
    func finish(_ recording: RoomRecording, by end: RecordingEnd = .stopped) {
        Task { _ = await close(recording, by: end) }
    }

    // MARK: - The directory

    /// Reads the directory and begins to repair recordings that a crash left open, both in the background.
    func open() {
        lane.add { [self] in
            do throws(RecordingError) {
                _ = try readyCatalogue()
            } catch {
                logger.warning("no recordings for now: \(error)")
            }
            if let complaint = reserve.complaint() { logger.warning("\(complaint)") }
        }
    }

    /// nil until the directory has been read once.
    var catalogue: RecordingCatalogue? { state.withLock { $0.catalogue } }

    /// The directory's catalogue, read now where earlier attempts failed. Called on the lane.
    func readyCatalogue() throws(RecordingError) -> RecordingCatalogue {
        if let catalogue { return catalogue }
        let made = try RecordingCatalogue(directory: directory, disk: disk, delivers: deliveries.isOn, node: node)
        let repairs = RecordingRepairs(made)
        state.withLock { state in
            state.catalogue = made
            state.repairs = repairs
        }
        if repairs.waiting > 0 {
            logger.notice("\(repairs.waiting) recordings were left open by a crash and are repaired in the background")
        }
        DedicatedThread.start("repairs", niceness: Self.repairNiceness) { [self] in
            // On the lane, since a thread has the nice value of the one that starts it.
            let found = { [self] in lane.add { self.startDeliveries(of: made) } }
            repairs.run(
                reserve: reserve, while: { state.withLock { !$0.isStopped } }, onFound: found
            ) { entry, left in
                logger.notice("recording \(entry.id) was left open, now \(entry.state.rawValue); \(left) wait")
                events.publish(.recordingRecovered(RecordingInfo(entry)), room: entry.room)
                deliverRepaired(entry, in: made)
            }
        }
        return made
    }

    private func startDeliveries(of catalogue: RecordingCatalogue) {
        state.withLock { $0.hasFoundOpen = true }
        deliveries.start(catalogue) { [lane] body in lane.perform(body) }
    }

    /// Delivers a recording that a repair closed, also one that an earlier version, or a server without a hook, began.
    private func deliverRepaired(_ entry: RecordingEntry, in catalogue: RecordingCatalogue) {
        guard deliveries.isOn, entry.state == .finished || entry.state == .failed else { return }
        guard entry.delivery == nil else { return deliveries.add(entry) }
        lane.add { [self] in
            if let entry = try? catalogue.setDelivery(RecordingDelivery(), of: entry.id) { deliveries.add(entry) }
        }
    }

    /// Looks which old recordings are to be removed, in the background. Not before it is known which are to be repaired.
    func removeOld() {
        if state.withLock({ $0.hasFoundOpen }) { retention.look(self) }
    }
    /// One step of the removal of a recording. Called on the lane.
    func remove(_ id: String) -> RetentionControl.Step { retention.remove(id, self) }
    var retentionSamples: [MetricSample] { retention.samples }

    /// Stops after the running repair. One that the end of the process interrupts is repeated at the next start.
    func stopRepairs() { state.withLock { $0.isStopped = true } }
    /// The recordings whose files are being written: they run, are being closed, or wait for their repair.
    var busy: Set<String> {
        let (alive, repairs) = state.withLock { ($0.alive.keys, $0.repairs) }
        return (repairs?.waitingRecordings ?? []).union(alive)
    }
    var repairsWaiting: Int { state.withLock { $0.repairs }?.waiting ?? 0 }

    // MARK: - Starts

    /// Begins a start in a room, which `endStart` ends; throws where too many came, or with `most` would run at once.
    ///
    /// - Parameter running: the number of recordings that run in the room.
    func beginStart(_ room: String, beside running: Int, most: Int, at now: Instant) throws(ConferenceError) {
        try state.withLock { state throws(ConferenceError) in
            let others = running + state.starting[room, default: 0]
            if others > 0, most == 1 { throw .recordingRunning(room) }
            if others >= most {
                throw .conflict(
                    "Room “\(room)” has \(others) recordings, the most that recording.perRoom allows: stop one of them first."
                )
            }
            if let wait = state.starts.take(room, at: now) {
                state.refused[.rate, default: 0] += 1
                throw .tooFast("Recordings of room “\(room)” are started too often.", retryAfter: wait)
            }
            state.starting[room, default: 0] += 1
        }
    }

    func endStart(_ room: String) {
        state.withLock { state in
            let left = state.starting[room, default: 1] - 1
            state.starting[room] = left > 0 ? left : nil
        }
    }
    func refuse(_ refusal: Refusal) { state.withLock { $0.refused[refusal, default: 0] += 1 } }
    var refused: [Refusal: Int] { state.withLock { $0.refused } }

    // MARK: - Running recordings

    func add(_ recording: RoomRecording) { state.withLock { $0.alive[recording.id] = recording } }

    /// Removes a closed recording.
    func remove(_ recording: RoomRecording) {
        let losses = recording.losses
        state.withLock { state in
            if state.alive.removeValue(forKey: recording.id) != nil { state.lost = state.lost + losses }
        }
    }

    var alive: [String: RoomRecording] { state.withLock { $0.alive } }

    /// Losses by slow disks since the start.
    var losses: RecordingLosses {
        state.withLock { state in state.alive.values.reduce(state.lost) { $0 + $1.losses } }
    }

    /// The losses since the last call as a sentence for the log; nil: none.
    func newLosses() -> String? {
        let losses = losses
        let new = state.withLock { state in
            defer { state.lossesReported = losses.video + losses.audio }
            return losses.video + losses.audio - state.lossesReported
        }
        return new > 0
            ? "the disk is too slow for the recordings: \(new) frames and audio blocks were left out, \(losses.video) and \(losses.audio) in all"
            : nil
    }

    /// Checks the free space, unless a check still waits for the disk, and calls `isLow` when the reserve is touched.
    func checkSpace(_ isLow: @escaping @Sendable (RecordingError) -> Void) {
        let mustCheck = state.withLock { state in
            defer { state.isCheckingSpace = true }
            return !state.isCheckingSpace
        }
        guard mustCheck else { return }
        lane.add { [self] in
            do throws(RecordingError) { try reserve.checkRunning() } catch { isLow(error) }
            state.withLock { $0.isCheckingSpace = false }
        }
    }
}

extension RecordingInfo {
    /// A recording that does not run.
    init(_ entry: RecordingEntry) {
        let state: RecordingInfo.State =
            switch entry.state {
            case .recording: .recording
            case .paused: .paused
            case .finished: .finished
            case .failed: .failed
            case .repairing: .repairing
            }
        self.init(
            id: entry.id, room: entry.room, file: entry.file, state: state, startedAt: entry.beganAt,
            preRoll: .seconds(entry.preRoll ?? 0), duration: entry.duration.map { .seconds($0) }, bytes: entry.bytes,
            files: entry.parts ?? (entry.state == .repairing ? [] : entry.files.map { RecordingPart(file: $0) }),
            view: entry.view, audioOnly: entry.audioOnly ?? false, group: entry.group, tracks: entry.tracks ?? [],
            dropped: entry.dropped ?? RecordingLosses(), isRepaired: entry.wasRecovered, failure: entry.message,
            delivery: entry.delivery)
        (frames, title) = (entry.frames, entry.title)
        continues = entry.continues
        (endedAt, endedBy) = (entry.endedAt, entry.endedBy)
    }
}
