import Basics
import Logging

/// Keeps the lines of a log.
struct CapturedLog: LogHandler {
    private let kept = Guarded<[(text: String, metadata: Logger.Metadata)]>([])
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    var lines: [(text: String, metadata: Logger.Metadata)] { kept.withLock { $0 } }
    /// A logger that writes here.
    var logger: Logger { Logger(label: "test") { _ in self } }

    func log(event: LogEvent) { kept.withLock { $0.append((event.message.description, event.metadata ?? [:])) } }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
}
