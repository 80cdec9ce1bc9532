import Basics
import Logging

/// Log lines that are written once, however often their reason comes back: what strangers cause must not fill a disk.
final class Notices: Sendable {
    private let logger: Logger
    private let told = Guarded<Set<String>>([])

    init(_ logger: Logger) { self.logger = logger }

    func once(_ subject: String, _ write: (Logger) -> Void) {
        if told.withLock({ $0.insert(subject).inserted }) { write(logger) }
    }
}
