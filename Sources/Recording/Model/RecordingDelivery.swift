import Basics
package import Foundation

/// How far a complete recording is on its way to where it is kept (`recording.onFinished`).
package struct RecordingDelivery: Codable, Hashable, Sendable {
    package enum State: String, Codable, Sendable, CaseIterable {
        /// It waits for its first run, or for the next one.
        case pending
        case running
        case delivered
        /// Given up. The recording stays.
        case failed
    }

    package private(set) var state = State.pending
    /// The number of runs that were begun.
    package private(set) var attempts = 0
    /// Wall clock time of the end of the first run that failed.
    package private(set) var failingSince: Date?
    /// Where the program says that the recording is now.
    package private(set) var location: String?
    /// Why the latest run failed.
    package private(set) var message: String?
    /// The process group of the run that is under way.
    package private(set) var process: Int32?

    /// The wait after the first failed run, which doubles with each.
    package static let firstWait = Duration.seconds(5)
    package static let longestWait = Duration.seconds(3600)

    package init() {}

    /// Whether there is something left to do.
    package var isOpen: Bool { state == .pending || state == .running }

    package mutating func begin(process: Int32) {
        state = .running
        attempts += 1
        self.process = process
    }

    package mutating func succeed(location: String?) {
        (state, self.location, message, process, failingSince) = (.delivered, location, nil, nil, nil)
    }

    /// Returns the wait for the next run; nil where the delivery is given up, since runs have failed for `retryFor`.
    package mutating func fail(_ message: String, at now: Date, retryFor: Duration) -> Duration? {
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
    package mutating func giveUp(_ message: String) {
        (state, self.message, process) = (.failed, message, nil)
    }

    /// The server's end interrupted the run.
    package mutating func interrupt() {
        (state, process) = (.pending, nil)
    }
}
