import Basics

/// When reports about what we send and receive are due (RFC 3550 §6.2).
struct ReportSchedule: Sendable {
    static let interval: Duration = .seconds(1)
    /// At the start: a receiver can align sound and picture once it has reports about both, libwebrtc once it has two
    /// of each (RtpToNtpEstimator draws a line through them).
    static let earlyInterval: Duration = .milliseconds(250)
    /// So many follow in the shorter interval.
    static let earlyReports = 3
    /// The first report of a connection that sends nothing.
    static let firstReport: Duration = .milliseconds(500)

    /// When the next report is due; nil before the connection stands.
    private(set) var deadline: Instant?
    /// Streams of ours that a report has told of.
    private var streams = 0
    /// Reports that still follow in the shorter interval.
    private var early = 0

    /// The connection stands.
    mutating func start(at now: Instant) { deadline = now + Self.firstReport }

    /// So many streams of ours have begun. True where one is new: its report is due at once, which RFC 3550 §6.2 allows
    /// where only two take part.
    mutating func note(streams count: Int, at now: Instant) -> Bool {
        guard count > streams else { return false }
        streams = count
        early = Self.earlyReports
        deadline = now
        return true
    }

    /// Whether a report is due; then the next one is an interval later.
    mutating func take(at now: Instant) -> Bool {
        guard let deadline, now >= deadline else { return false }
        self.deadline = now + (early > 0 ? Self.earlyInterval : Self.interval)
        early = max(0, early - 1)
        return true
    }
}
