import Basics

/// When reports about what we send and receive are due (RFC 3550 §6.2).
struct ReportSchedule: Sendable {
    static let interval: Duration = .seconds(1)
    /// On a thin link, where a report takes the place of speech. Our page takes a report for true for 5 s, in which one may
    /// get lost.
    static let longestInterval: Duration = .seconds(2)
    /// At the start: a receiver can align audio and video once it has reports about both, libwebrtc once it has two of
    /// each (RtpToNtpEstimator draws a line through them).
    static let earlyInterval: Duration = .milliseconds(250)
    /// This many reports follow at the shorter interval.
    static let earlyReports = 3
    /// The first report of a connection that sends nothing.
    static let firstReport: Duration = .milliseconds(500)

    /// When the next report is due; nil before the connection is established.
    private(set) var deadline: Instant?
    /// The number of our streams that a report has covered.
    private var streams = 0
    /// Reports that still follow at the shorter interval.
    private var early = 0

    /// The reduced minimum interval of RFC 3550 §6.2, 360 s divided by the rate in kbit/s, within the bounds above.
    static func interval(at bandwidth: BitRate) -> Duration {
        let least = Duration.seconds(360_000 / Double(max(bandwidth.bitsPerSecond, 1)))
        return min(max(least, interval), longestInterval)
    }

    /// Starts the schedule: the connection is established.
    mutating func start(at now: Instant) { deadline = now + Self.firstReport }

    /// Records how many of our streams have begun. True if one is new: its report is due at once, which RFC 3550 §6.2
    /// allows in a session of two participants.
    mutating func note(streams count: Int, at now: Instant) -> Bool {
        guard count > streams else { return false }
        streams = count
        early = Self.earlyReports
        deadline = now
        return true
    }

    /// Whether a report is due; if so, the next one is scheduled.
    ///
    /// - Parameter bandwidth: what the link carries.
    mutating func take(at now: Instant, bandwidth: BitRate) -> Bool {
        guard let deadline, now >= deadline else { return false }
        self.deadline = now + (early > 0 ? Self.earlyInterval : Self.interval(at: bandwidth))
        early = max(0, early - 1)
        return true
    }
}
