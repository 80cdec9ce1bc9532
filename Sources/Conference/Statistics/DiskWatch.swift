import Basics
import Logging
import Threads

/// Looks which of the server's folders have a disk that does not answer, for the log and the metrics.
final class DiskWatch: Sendable {
    /// A disk that takes longer than this for one job does not answer.
    static let silence = Duration.seconds(5)

    private let folders: [(name: String, lane: DiskLane)]
    /// The folders that the log has said to be silent, since when.
    private let silent = Guarded<[String: Instant]>([:])
    private let logger: Logger

    init(_ folders: [(name: String, lane: DiskLane)], logger: Logger) {
        self.folders = folders
        self.logger = logger
    }

    func lane(_ folder: String) -> DiskLane? { folders.first { $0.name == folder }?.lane }

    /// Called once a second.
    func look(at now: Instant) {
        for (name, lane) in folders {
            let running = lane.status(at: now).running
            if running >= Self.silence {
                let isNew = silent.withLock { silent in
                    defer { silent[name] = silent[name] ?? now - running }
                    return silent[name] == nil
                }
                if isNew {
                    logger.warning(
                        "a disk does not answer: what needs it is refused, and calls go on",
                        metadata: ["folder": "\(name)"])
                }
            } else if let begin = silent.withLock({ $0.removeValue(forKey: name) }) {
                let seconds = "\(Int((now - begin).inSeconds))"
                logger.notice("a disk answers again", metadata: ["folder": "\(name)", "seconds": "\(seconds)"])
            }
        }
    }

    func samples(at now: Instant) -> [MetricSample] {
        folders.flatMap { folder in
            let status = folder.lane.status(at: now)
            return [
                MetricSample(
                    "tessera_disk_jobs_waiting", "Pieces of work that wait for a folder's disk.", .gauge,
                    Double(status.waiting), labels: ["folder": folder.name]),
                MetricSample(
                    "tessera_disk_job_seconds", "How long a folder's disk has been at its present piece of work.",
                    .gauge, status.running.inSeconds, labels: ["folder": folder.name]),
            ]
        }
    }
}
