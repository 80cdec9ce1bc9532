import Basics
import FoundationEssentials
import Logging
import Recording
import Threads

/// Removes old recordings by `recording.keep` and `recording.maxBytes`, and others on request, in small steps on the
/// disk's lane, so that the start of a recording in between does not wait.
final class RetentionControl: Sendable {
    private let logger: Logger
    private let events: EventBus
    private let state: Guarded<State>

    private struct State {
        var retention: RecordingRetention
        /// What is still to be removed of the latest choice.
        var chosen: [(id: String, reason: RecordingRetention.Reason)] = []
        var isWorking = false
        var removed: [RecordingRetention.Reason: Int] = [:]
        var undelivered = 0
        /// The recordings that could not be removed, as far as the log has them.
        var stuck: Set<String> = []
    }

    /// The most files that one step removes.
    private static let filesOfStep = 16
    /// The most recordings whose removal failed that are named in the log.
    private static let mostStuck = 1000

    init(_ configuration: ConferenceConfiguration.Recording, logger: Logger, events: EventBus) {
        self.logger = logger
        self.events = events
        let retention = RecordingRetention(
            keep: configuration.keep, maxBytes: configuration.maxBytes,
            needsDelivery: !configuration.onFinished.isEmpty)
        state = Guarded(State(retention: retention))
    }

    /// Looks what is to be removed, unless the latest look is still being worked on.
    func look(_ control: RecordingControl) {
        let begins = state.withLock { state in
            defer { state.isWorking = true }
            return !state.isWorking && state.retention.isOn
        }
        guard begins else { return }
        control.lane.add { [self] in choose(control) }
    }

    private func choose(_ control: RecordingControl) {
        guard let catalogue = control.catalogue else { return state.withLock { $0.isWorking = false } }
        // A repair would bring back the sidecar of a recording that was removed meanwhile.
        let busy = control.busy
        var retention = state.withLock { $0.retention }
        let choice = retention.choose(
            from: catalogue.list().reversed(), at: Date(), isBusy: { busy.contains($0) }, size: catalogue.size)
        let isNew = state.withLock { state in
            defer { state.undelivered = choice.undelivered }
            (state.retention, state.chosen) = (retention, choice.removed)
            return choice.undelivered > state.undelivered
        }
        if isNew {
            logger.warning(
                "\(choice.undelivered) recordings would be removed by recording.keep or recording.maxBytes, but stay since they are not delivered"
            )
        }
        if !choice.removed.isEmpty { return control.lane.add { [self] in remove(control, catalogue) } }
        if choice.isPartial { return control.lane.add { [self] in choose(control) } }
        state.withLock { $0.isWorking = false }
    }

    private func remove(_ control: RecordingControl, _ catalogue: RecordingCatalogue) {
        guard let next = state.withLock({ $0.chosen.first }) else {
            return state.withLock { $0.isWorking = false }
        }
        // A delivery may have been ordered anew since the choice.
        let entry = catalogue.entry(next.id)
        if let entry, !(entry.delivery?.isOpen ?? false && state.withLock { $0.retention.needsDelivery }) {
            do throws(RecordingError) {
                guard try catalogue.delete(entry, atMost: Self.filesOfStep) else {
                    return control.lane.add { [self] in remove(control, catalogue) }
                }
                removed(entry, next.reason)
            } catch {
                complain(error, of: entry)
            }
        }
        state.withLock { _ = $0.chosen.removeFirst() }
        control.lane.add { [self] in remove(control, catalogue) }
    }

    /// What came of one step of a removal.
    enum Step: Sendable {
        case done
        /// Some of its files are gone, and others are left.
        case again
        /// There is none of this id.
        case unknown
        /// Its files are being written or delivered.
        case busy
        case failed(RecordingError)
    }

    /// Removes a complete recording, or as many of its files as one step may: also one that is not delivered. On the
    /// disk's lane.
    func remove(_ id: String, _ control: RecordingControl) -> Step {
        guard let catalogue = control.catalogue, let entry = catalogue.entry(id) else { return .unknown }
        guard !control.busy.contains(id), entry.delivery?.state != .running else { return .busy }
        do throws(RecordingError) {
            guard try catalogue.delete(entry, atMost: Self.filesOfStep) else { return .again }
        } catch {
            return .failed(error)
        }
        removed(entry, .request)
        return .done
    }

    private func removed(_ entry: RecordingEntry, _ reason: RecordingRetention.Reason) {
        logger.notice("recording removed", metadata: ["recording": "\(entry.id)", "reason": "\(reason.rawValue)"])
        events.publish(.recordingRemoved(RecordingInfo(entry), reason), room: entry.room)
        state.withLock { state in
            state.removed[reason, default: 0] += 1
            state.stuck.remove(entry.id)
        }
    }

    /// Logs once that a recording cannot be removed, which each later look tries again.
    private func complain(_ error: RecordingError, of entry: RecordingEntry) {
        let isNew = state.withLock { $0.stuck.count < Self.mostStuck && $0.stuck.insert(entry.id).inserted }
        if isNew {
            logger.warning("an old recording cannot be removed: \(error)", metadata: ["recording": "\(entry.id)"])
        }
    }

    var samples: [MetricSample] {
        let (removed, undelivered) = state.withLock { ($0.removed, $0.undelivered) }
        return [
            MetricSample(
                "tessera_recordings_kept_undelivered",
                "Recordings that stay beyond recording.keep or recording.maxBytes since they are not delivered.",
                .gauge, Double(undelivered))
        ]
            + RecordingRetention.Reason.allCases.map { reason in
                MetricSample(
                    "tessera_recordings_removed_total", "Recordings that were removed.", .counter,
                    Double(removed[reason] ?? 0), labels: ["reason": reason.rawValue])
            }
    }
}
