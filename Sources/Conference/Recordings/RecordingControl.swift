import Basics
import Dispatch
import Logging
import Recording
import RoomMedia
import Threads

/// What all recordings of the server share: the directory, the queue that waits for its disk, the reserve, and what was
/// refused or lost.
final class RecordingControl: Sendable {
    enum Refusal: String, Sendable, CaseIterable { case rate, space, disk, tooMany = "too_many" }

    let reserve: DiskReserve
    let memory = RecordingMemory()
    let disk: RecordingDisk
    private let directory: String
    private let logger: Logger
    private let log: RoomLog
    /// A start is refused where the disk does not answer for so long.
    private let patience: Duration
    /// All that may wait for the disk and is not a recorder's own, in order. A disk that stands still holds up this
    /// queue and nothing else.
    private let queue = DispatchQueue(label: "recordings", qos: .utility)
    private let state: Guarded<State>

    private struct State {
        /// nil while the directory cannot be used: then only recordings fail.
        var catalogue: RecordingCatalogue?
        var repairs: RecordingRepairs?
        var starts: RecordingStarts
        /// Rooms whose recording is being made.
        var starting: Set<String> = []
        /// What runs or is being closed, by id.
        var alive: [String: RoomRecording] = [:]
        var refused: [Refusal: Int] = [:]
        /// Of those that are closed.
        var lost = RecordingLosses()
        var lossesTold = 0
        var isLooking = false
        var isStopped = false
    }

    /// Repairs take what processor and disk time nobody else wants.
    private static let repairNiceness: Int32 = 19

    init(
        _ configuration: ConferenceConfiguration.Recording, disk: RecordingDisk, patience: Duration, logger: Logger,
        log: RoomLog
    ) {
        self.patience = patience
        directory = configuration.directory
        self.disk = disk
        self.logger = logger
        self.log = log
        reserve = DiskReserve(directory: configuration.directory, minimumFree: configuration.minimumFree, disk: disk)
        state = Guarded(State(starts: RecordingStarts(perMinute: configuration.startsPerMinute)))
    }

    // MARK: - The end of one

    /// Returns when the file is complete.
    ///
    /// - Parameter engine: what the recording is attached to.
    func close(_ recording: RoomRecording, _ engine: RoomEngine) async -> RecordingInfo {
        let info = await recording.finish(engine)
        log.recordingEnded(info)
        return info
    }

    /// For rooms that end: nobody waits.
    func finish(_ recording: RoomRecording, _ engine: RoomEngine) {
        Task { _ = await close(recording, engine) }
    }

    // MARK: - The directory

    /// Reads the directory and begins to close what a crash left open, both beside the caller.
    func open() {
        queue.async { [self] in
            do throws(RecordingError) {
                _ = try readyCatalogue()
            } catch {
                logger.warning("no recordings for now: \(error)")
            }
            if let complaint = reserve.complaint() { logger.warning("\(complaint)") }
        }
    }

    /// nil until it was read for the first time.
    var catalogue: RecordingCatalogue? { state.withLock { $0.catalogue } }

    /// On the queue: the directory's catalogue; where it could not be opened at the start it is tried again.
    func readyCatalogue() throws(RecordingError) -> RecordingCatalogue {
        if let catalogue { return catalogue }
        let made = try RecordingCatalogue(directory: directory, disk: disk)
        let repairs = RecordingRepairs(made)
        state.withLock { state in
            state.catalogue = made
            state.repairs = repairs
        }
        if repairs.waiting > 0 {
            logger.notice("\(repairs.waiting) recordings were left open and are closed beside the calls")
        }
        DedicatedThread.start("repairs", niceness: Self.repairNiceness) { [self] in
            repairs.run(reserve: reserve, while: { state.withLock { !$0.isStopped } }) { entry, left in
                logger.notice("recording \(entry.id) was left open, now \(entry.state.rawValue); \(left) wait")
            }
        }
        return made
    }

    /// The repair that runs goes on to its end, or is done again at the next start.
    func stopRepairs() { state.withLock { $0.isStopped = true } }
    var repairsWaiting: Int { state.withLock { $0.repairs }?.waiting ?? 0 }

    /// Runs `body` on the disk's queue.
    func onDisk<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: body()) } }
    }

    /// The same, for those who do not wait for ever: nil after `patience`, and what comes later goes to `late`.
    func onDisk<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value, late: @escaping @Sendable (Value) -> Void
    ) async -> Value? {
        await withCheckedContinuation { continuation in
            let once = Once(continuation)
            queue.async {
                let value = body()
                if !once.resume(value) { late(value) }
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + patience.inSeconds) { once.resume(nil) }
        }
    }

    // MARK: - Starts

    /// Counts a start of a room, which `endStart` then ends.
    func beginStart(_ room: String, at now: Instant) throws(ConferenceError) {
        try state.withLock { state throws(ConferenceError) in
            if state.starting.contains(room) { throw .recordingRunning(room) }
            if let wait = state.starts.take(room, at: now) {
                state.refused[.rate, default: 0] += 1
                throw .tooFast("Recordings of room “\(room)” are started too often.", retryAfter: wait)
            }
            state.starting.insert(room)
        }
    }

    func endStart(_ room: String) { state.withLock { _ = $0.starting.remove(room) } }
    func refuse(_ refusal: Refusal) { state.withLock { $0.refused[refusal, default: 0] += 1 } }
    var refused: [Refusal: Int] { state.withLock { $0.refused } }

    // MARK: - What runs

    func add(_ recording: RoomRecording) { state.withLock { $0.alive[recording.id] = recording } }

    /// It is closed.
    func remove(_ recording: RoomRecording) {
        let losses = recording.losses
        state.withLock { state in
            if state.alive.removeValue(forKey: recording.id) != nil { state.lost = state.lost + losses }
        }
    }

    var alive: [String: RoomRecording] { state.withLock { $0.alive } }

    /// What slow disks lost since the start.
    var losses: RecordingLosses {
        state.withLock { state in state.alive.values.reduce(state.lost) { $0 + $1.losses } }
    }

    /// What is new in `losses` since somebody was told, as a sentence.
    func newLosses() -> String? {
        let losses = losses
        let new = state.withLock { state in
            defer { state.lossesTold = losses.video + losses.audio }
            return losses.video + losses.audio - state.lossesTold
        }
        return new > 0
            ? "the disk is too slow for the recordings: \(new) frames and blocks of sound were left out, \(losses.video) and \(losses.audio) in all"
            : nil
    }

    /// Looks at the free space, unless a look still waits for the disk, and tells when the reserve is touched.
    func look(_ isLow: @escaping @Sendable (RecordingError) -> Void) {
        let mustLook = state.withLock { state in
            defer { state.isLooking = true }
            return !state.isLooking
        }
        guard mustLook else { return }
        queue.async { [self] in
            do throws(RecordingError) { try reserve.checkRunning() } catch { isLow(error) }
            state.withLock { $0.isLooking = false }
        }
    }
}
