import Basics
import FoundationEssentials
import Logging
import Recording
import Threads

/// Delivers complete recordings by the program of `recording.onFinished`, one at a time, on a thread of its own that
/// gives way to everything else.
///
/// What waits is on the disk (`RecordingDelivery`), so that the next start goes on after a crash.
final class RecordingDeliveries: Sendable {
    enum Result: String, Sendable, CaseIterable { case delivered, retried, failed }

    private let command: DeliveryCommand
    /// The longest run, and how long failed runs are repeated.
    private let limit: Duration
    private let retryFor: Duration
    private let logger: Logger
    private let events: EventBus
    private let state: Condition<State>

    private struct State {
        var queue = DeliveryQueue()
        /// Something was added, so that the time of the next run may have changed.
        var hasChanged = false
        var results: [Result: Int] = [:]
        var isStarted = false
        /// The server goes down: no run begins any more, and the one that is under way ends at this time.
        var end: Instant?
        var ended: [@Sendable () -> Void] = []
        var hasEnded = false
    }

    /// Below the server's own threads, above repairs.
    private static let niceness: Int32 = 10
    /// How long the server waits, at its end, for the run that is under way.
    static let drainLimit = Duration.seconds(4)

    init(_ configuration: ConferenceConfiguration.Recording, logger: Logger, events: EventBus) {
        command = DeliveryCommand(configuration.onFinished)
        limit = configuration.deliveryLimit
        retryFor = configuration.retryFor
        self.logger = logger
        self.events = events
        state = Condition(State())
    }

    /// Whether a program is configured.
    var isOn: Bool { !command.words.isEmpty }
    var waiting: Int { state.withLock { $0.queue.count } }
    var results: [Result: Int] { state.withLock { $0.results } }

    // MARK: - The queue

    /// Takes up the deliveries of a directory, and starts the thread. Recordings that are still to be repaired come by
    /// `add`.
    ///
    /// - Parameter onDisk: runs its body on the disk's lane, and waits; this call is on that lane itself.
    func start(_ catalogue: RecordingCatalogue, onDisk: @escaping @Sendable (() -> Void) -> Void) {
        guard isOn else { return }
        let open = catalogue.list().reversed().filter { $0.delivery?.isOpen ?? false }
        for entry in open {
            guard var delivery = entry.delivery, let group = delivery.process else { continue }
            if ChildProcess.endLeftover(group, with: "TESSERA_ID=\(entry.id)") {
                logger.notice(
                    "ended the delivery that a killed server left running", metadata: ["recording": "\(entry.id)"])
            }
            delivery.interrupt()
            _ = try? catalogue.setDelivery(delivery, of: entry.id)
        }
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted && state.end == nil
        }
        guard isFirst else { return }
        for entry in open where entry.state == .finished || entry.state == .failed { add(entry) }
        if !open.isEmpty { logger.notice("\(open.count) recordings are still to be delivered") }
        let work = DeliveryWork(catalogue: catalogue, onDisk: onDisk)
        DedicatedThread.start("deliveries", niceness: Self.niceness) { [self] in
            while let id = next() { deliver(id, work) }
            let ended = state.withLock { state in
                state.hasEnded = true
                return state.ended
            }
            for done in ended { done() }
        }
    }

    /// Adds a complete recording whose delivery is open.
    func add(_ entry: RecordingEntry) {
        guard isOn, entry.delivery?.isOpen ?? false else { return }
        state.withLock(waking: .all) { state in
            state.queue.add(entry.id, due: MonotonicClock.now())
            state.hasChanged = true
        }
    }

    /// Waits for the next recording whose delivery is due; nil at the server's end.
    private func next() -> String? {
        while true {
            let due = state.withLock { $0.queue.nextDue }
            let turn = state.wait(until: due) { state -> Turn? in
                if state.end != nil { return .end }
                if let id = state.queue.take(at: MonotonicClock.now()) { return .deliver(id) }
                defer { state.hasChanged = false }
                return state.hasChanged ? .waitAnew : nil
            }
            switch turn {
            case .deliver(let id): return id
            case .end: return nil
            case .waitAnew, nil: continue
            }
        }
    }

    private enum Turn { case deliver(String), waitAnew, end }

    /// Lets no run begin any more, and ends the one that is under way after `drainLimit`, which the next start repeats.
    func drain() async {
        let end = Promise<Void>()
        let isOver = state.withLock(waking: .all) { state in
            state.end = state.end ?? MonotonicClock.now() + Self.drainLimit
            if state.isStarted, !state.hasEnded { state.ended.append { end.fulfil(()) } }
            return !state.isStarted || state.hasEnded
        }
        // The thread may wait for a disk that does not answer.
        if !isOver { await end.value(within: Self.drainLimit + ChildProcess.grace * 2) }
    }

    // MARK: - One delivery

    private struct DeliveryWork: Sendable {
        var catalogue: RecordingCatalogue
        var onDisk: @Sendable (() -> Void) -> Void
    }

    private func deliver(_ id: String, _ work: DeliveryWork) {
        let wait = run(id, work)
        state.withLock { $0.queue.end(again: wait, at: MonotonicClock.now()) }
    }

    /// Returns the wait for the next run; nil: the delivery is over, or the server ends.
    private func run(_ id: String, _ work: DeliveryWork) -> Duration? {
        let catalogue = work.catalogue
        guard let entry = catalogue.entry(id), var delivery = entry.delivery, delivery.isOpen,
            entry.state == .finished || entry.state == .failed
        else { return nil }
        var files: [String] = []
        work.onDisk { files = catalogue.files(of: entry).map(Self.absolute) }
        let file = Self.absolute(catalogue.path(of: entry))
        func store() { work.onDisk { _ = try? catalogue.setDelivery(delivery, of: id) } }
        guard !files.isEmpty else {
            delivery.giveUp("its files are gone")
            store()
            report(id, delivery, wait: nil, catalogue)
            return nil
        }
        let job = DeliveryJob(entry, file: file, files: files)
        var failure: String
        do throws(ChildProcess.StartFailure) {
            let outcome = try ChildProcess.run(
                command.arguments(for: job),
                environment: DeliveryCommand.environment(for: job, from: ProcessInfo.processInfo.environment),
                input: job.json, limit: limit
            ) { process in
                delivery.begin(process: process)
                store()
            } isCancelled: {
                state.withLock { $0.end.map { MonotonicClock.now() >= $0 } ?? false }
            }
            switch outcome.end {
            case .exited(0):
                delivery.succeed(location: outcome.lastLine.isEmpty ? nil : outcome.lastLine)
                store()
                report(id, delivery, wait: nil, catalogue)
                return nil
            case .cancelled:
                delivery.interrupt()
                store()
                return nil
            case .exited(let status): failure = "\(command.words[0]) ended with status \(status)"
            case .signalled(let signal): failure = "\(command.words[0]) was ended by signal \(signal)"
            case .tooLong:
                failure =
                    "\(command.words[0]) was ended after \(Int(limit.inSeconds)) s, the most of recording.deliveryLimit"
            }
            if !outcome.errors.isEmpty { failure += ": " + outcome.errors }
        } catch {
            // Without a process there is no group to end either.
            delivery.begin(process: 0)
            failure = "\(command.words[0]) cannot be started (\(error.reason)): see recording.onFinished"
        }
        let wait = delivery.fail(failure, at: Date(), retryFor: retryFor)
        store()
        report(id, delivery, wait: wait, catalogue)
        return wait
    }

    /// Counts, logs and tells a run's result.
    private func report(_ id: String, _ delivery: RecordingDelivery, wait: Duration?, _ catalogue: RecordingCatalogue) {
        let result: Result = delivery.state == .delivered ? .delivered : delivery.state == .failed ? .failed : .retried
        state.withLock { $0.results[result, default: 0] += 1 }
        var metadata: Logger.Metadata = ["recording": "\(id)", "attempt": "\(delivery.attempts)"]
        switch result {
        case .delivered:
            if let location = delivery.location { metadata["location"] = "\(location)" }
            logger.info("recording delivered", metadata: metadata)
        case .retried:
            metadata["again"] = "\(Int(wait?.inSeconds ?? 0)) s"
            logger.warning("recording not delivered: \(delivery.message ?? "")", metadata: metadata)
        case .failed: logger.error("recording not delivered, given up: \(delivery.message ?? "")", metadata: metadata)
        }
        guard let entry = catalogue.entry(id) else { return }
        let info = RecordingInfo(entry)
        events.publish(
            result == .delivered ? .recordingDelivered(info) : .recordingDeliveryFailed(info), room: info.room)
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
}

extension RecordingDeliveries {
    var samples: [MetricSample] {
        let results = results
        return [
            MetricSample(
                "tessera_recording_deliveries_waiting", "Complete recordings that are still to be delivered.", .gauge,
                Double(waiting))
        ]
            + Result.allCases.map { result in
                MetricSample(
                    "tessera_recording_deliveries_total", "Runs of recording.onFinished, by what came of them.",
                    .counter, Double(results[result] ?? 0), labels: ["result": result.rawValue])
            }
    }
}
