import Basics
package import Logging

/// Writes a log line about a subject only once, however often its cause recurs, so that clients cannot fill the disk.
package final class OnceLogger: Sendable {
    private let logger: Logger
    private let written = Guarded<Set<String>>([])

    package init(_ logger: Logger) { self.logger = logger }

    package func once(_ subject: String, _ write: (Logger) -> Void) {
        if written.withLock({ $0.insert(subject).inserted }) { write(logger) }
    }
}
