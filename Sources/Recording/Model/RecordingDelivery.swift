import Basics
public import FoundationEssentials

/// How far a complete recording is on its way to where it is kept (`recording.onFinished`).
public struct RecordingDelivery: Codable, Hashable, Sendable {
    public enum State: String, Codable, Sendable, CaseIterable {
        /// It waits for its first run, or for the next one.
        case pending
        case running
        case delivered
        /// Given up. The recording stays.
        case failed
    }

    public private(set) var state = State.pending
    /// The number of runs that were begun.
    public private(set) var attempts = 0
    /// Wall clock time of the end of the first run that failed.
    public private(set) var failingSince: Date?
    /// Where the program says that the recording is now.
    public private(set) var location: String?
    /// Why the latest run failed.
    public private(set) var message: String?
    /// The process group of the run that is under way.
    public private(set) var process: Int32?

    /// The wait after the first failed run, which doubles with each.
    public static let firstWait = Duration.seconds(5)
    public static let longestWait = Duration.seconds(3600)

    public init() {}

    /// Whether there is something left to do.
    public var isOpen: Bool { state == .pending || state == .running }

    public mutating func begin(process: Int32) {
        state = .running
        attempts += 1
        self.process = process
    }

    public mutating func succeed(location: String?) {
        (state, self.location, message, process, failingSince) = (.delivered, location, nil, nil, nil)
    }

    /// Returns the wait for the next run; nil where the delivery is given up, since runs have failed for `retryFor`.
    public mutating func fail(_ message: String, at now: Date, retryFor: Duration) -> Duration? {
        (self.message, process) = (message, nil)
        let since = failingSince ?? now
        failingSince = since
        guard now.timeIntervalSince(since) < retryFor.inSeconds else {
            state = .failed
            return nil
        }
        state = .pending
        let doublings = min(max(0, attempts - 1), 20)
        return min(Self.firstWait * (1 << doublings), Self.longestWait)
    }

    /// Gives the delivery up at once: no run would help.
    public mutating func giveUp(_ message: String) {
        (state, self.message, process) = (.failed, message, nil)
    }

    /// The server's end interrupted the run.
    public mutating func interrupt() {
        (state, process) = (.pending, nil)
    }
}
