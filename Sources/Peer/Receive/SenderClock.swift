import Basics

/// Maps the RTP timestamps of one participant's streams to room time.
///
/// Sender reports relate each stream's RTP clock to the participant's NTP clock (RFC 3550 §6.4.1). One offset from that
/// NTP clock to room time, the smallest arrival − NTP of a window, serves all streams, so that audio and video of a
/// participant stay synchronised whatever the jitter of the reports. Reports are few and may be delayed, so every
/// packet whose NTP time is known counts as well: no packet is captured after its arrival, and one late report makes no
/// picture look younger than it is. A sender that pairs a packet's timestamp with the later time at which it sends it
/// errs in one direction only, so the report with the least delay counts among a stream's reports too. Until a stream's
/// first report its fastest packets define the capture time.
///
/// Where every report of a stream was late so (one that stalled before its only report: GStreamer pairs by the time of
/// sending and reports each 5 s), its packets arrive before the time at which they were captured by that report. This
/// corrects that stream alone: as a lower offset for all of them it would make the other streams too old by as much, for
/// the length of the window.
struct SenderClock: Sendable {
    /// Long enough for reports (about one per second) to find an idle link, short enough that 300 ppm of drift make 3
    /// ms.
    static let window: Duration = .seconds(10)
    /// The window of the fastest packet before the first report.
    static let arrivalWindow: Duration = .seconds(2)
    /// A larger jump of the NTP clock means that it was set, not that a report was delayed.
    static let ntpStep: Duration = .seconds(2)
    /// A mapping further from the arrival time is rejected.
    static let plausible: Duration = .seconds(10)
    static let maximumStreams = 32
    /// How much the offset may rise per second, many times a clock's drift: when the fastest packet leaves the window,
    /// the capture times of both streams move, but values measured from earlier ones do not, so the change must not be
    /// a jump.
    static let rise: Duration = .milliseconds(5)
    /// This many reports in a row, each later than the least delayed one by `timestampStep`: the stream's timestamps
    /// were reset.
    static let timestampStep: Duration = .milliseconds(50)
    static let stepReports = 3
    /// A stream whose packets arrive this much earlier than by the reports and the other streams was reported late; less
    /// is what packets of audio and pictures need to leave the sender. Few reports may all have been delayed.
    static let lateReport: Duration = .milliseconds(20)
    static let lateFewReports: Duration = .milliseconds(50)
    static let fewReports = 3

    private struct Stream {
        var last: (timestamp: Int64, clockRate: Int64)?
        /// A report that came before the first packet, which determines the clock rate.
        var early: (ntp: Int64, timestamp: RTPTimestamp, arrival: Instant)?
        /// NTP − media time by the reports.
        var mapping = SlidingMinimum()
        var laterReports = 0
        var fastest = SlidingMinimum()
        /// Arrival − media time, over the window of the reports.
        var transit = SlidingMinimum()
        var lastSeen: Instant

        /// Arrival − NTP of the fastest packet; nil before the first report.
        var offset: Int64? {
            guard let mapping = mapping.value, let transit = transit.value else { return nil }
            return transit &- mapping
        }

        /// Turns the waiting report into a sample of the mapping.
        mutating func takeReport() {
            guard let report = early, let last else { return }
            early = nil
            // The report's timestamp is the nearest to the stream's own.
            let media = Instant(ticks: report.timestamp.extended(near: last.timestamp), at: last.clockRate)
            let sample = report.ntp &- media.nanoseconds
            if let value = mapping.value, sample &- value > SenderClock.timestampStep.nanoseconds {
                laterReports += 1
                if laterReports >= SenderClock.stepReports {
                    mapping = SlidingMinimum()
                    transit = SlidingMinimum()
                }
            } else {
                laterReports = 0
            }
            mapping.insert(sample, at: report.arrival, window: SenderClock.window)
        }
    }

    private var streams: [SSRC: Stream] = [:]
    /// Arrival − NTP of the reports themselves.
    private var offset = SlidingMinimum()
    /// When the latest reports came, the newest last.
    private var reports: [Instant] = []
    private var shared: (offset: Int64, at: Instant)?
    private var stepCandidate: Int64?
    /// Whether a stream whose packets arrive before their time by the reports is early, and not reported late.
    private let trustsReports: Bool

    init(trustsReports: Bool = false) { self.trustsReports = trustsReports }

    /// Whether capture times of this stream are on the common clock already.
    func isSynchronized(ssrc: SSRC) -> Bool { streams[ssrc]?.mapping.value != nil && offset.value != nil }

    mutating func received(_ report: SenderReport, at now: Instant) {
        // Some senders write zero before they know their clock.
        guard report.ntpTime != 0 else { return }
        let ntp = Self.nanoseconds(ntp: report.ntpTime)
        let sample = now.nanoseconds &- ntp
        if let current = offset.value, Self.distance(sample, current) > Self.ntpStep.nanoseconds.magnitude {
            // One such report may have been delayed; two that agree show a clock that was set.
            if let candidate = stepCandidate, Self.distance(sample, candidate) < Self.ntpStep.nanoseconds.magnitude {
                offset = SlidingMinimum()
                shared = nil
                stepCandidate = nil
                // The earlier reports of the streams refer to the clock before it was set.
                for ssrc in streams.keys { streams[ssrc]?.mapping = SlidingMinimum() }
                reports = []
            } else {
                stepCandidate = sample
                return
            }
        } else {
            stepCandidate = nil
        }
        offset.insert(sample, at: now, window: Self.window)
        reports.append(now)
        if reports.count > Self.fewReports { reports.removeFirst() }
        touch(report.ssrc, at: now)
        streams[report.ssrc]?.early = (ntp, report.rtpTimestamp, now)
        streams[report.ssrc]?.takeReport()
    }

    /// The capture time of the sample at `timestamp` (unwrapped), in room time; never after its arrival.
    mutating func captureTime(ssrc: SSRC, timestamp: Int64, clockRate: Int64, arrival: Instant) -> Instant {
        touch(ssrc, at: arrival)
        guard var stream = streams[ssrc] else { return arrival }
        stream.last = (timestamp, clockRate)
        stream.lastSeen = arrival
        stream.takeReport()
        let media = Instant(ticks: timestamp, at: clockRate).nanoseconds
        stream.fastest.insert(arrival.nanoseconds &- media, at: arrival, window: Self.arrivalWindow)
        stream.transit.insert(arrival.nanoseconds &- media, at: arrival, window: Self.window)
        streams[ssrc] = stream
        if let mapping = stream.mapping.value, let known = offset.value {
            let offset = streamOffset(stream, known, at: arrival)
            let capture = Instant(nanoseconds: media &+ mapping &+ offset)
            if (arrival - capture).nanoseconds.magnitude < Self.plausible.nanoseconds.magnitude {
                return min(capture, arrival)
            }
        }
        guard let fastest = stream.fastest.value else { return arrival }
        return min(Instant(nanoseconds: media &+ fastest), arrival)
    }

    /// The offset of a stream: that of all, or a smaller one where its reports were late. Allocates nothing.
    private mutating func streamOffset(_ stream: Stream, _ known: Int64, at now: Instant) -> Int64 {
        var count = 0
        var (smallest, largest) = (Int64.max, Int64.min)
        for other in streams.values {
            guard let value = Self.offset(of: other, near: known, at: now) else { continue }
            (count, smallest, largest) = (count + 1, min(smallest, value), max(largest, value))
        }
        let isReported = reports.last.map { now - $0 < Self.window } ?? false
        var base = known
        if isReported {
            // One stream alone proves nothing about the reports, and its own offset is enough for it.
            if count > 1 { base = min(known, largest) }
        } else if count > 0 {
            base = smallest
        }
        let isSure = base == known && reports.count == Self.fewReports && reports[0] > now - Self.window
        let late = isSure ? Self.lateReport : Self.lateFewReports
        let least = trustsReports ? .min : base &- late.nanoseconds
        var common = base
        for other in streams.values {
            if let value = Self.offset(of: other, near: known, at: now), value >= least { common = min(common, value) }
        }
        common = sharedOffset(common, at: now)
        guard let own = Self.offset(of: stream, near: known, at: now), own < least else { return common }
        return min(own, common)
    }

    /// The offset of a stream that runs; nil where it tells of another clock.
    private static func offset(of stream: Stream, near known: Int64, at now: Instant) -> Int64? {
        guard now - stream.lastSeen < window, let value = stream.offset,
            distance(value, known) < ntpStep.nanoseconds.magnitude
        else { return nil }
        return value
    }

    /// The least offset of the window; it falls at once and rises slowly.
    private mutating func sharedOffset(_ least: Int64, at now: Instant) -> Int64 {
        var value = least
        if let shared, value > shared.offset {
            let step = max(0, (now - shared.at).nanoseconds) / 1000 * (Self.rise.nanoseconds / 1_000_000)
            value = min(value, shared.offset &+ step)
        }
        shared = (value, max(now, shared?.at ?? now))
        return value
    }

    /// The distance of two numbers that the sender influences: their difference may be the smallest `Int64`, which has
    /// no `abs`.
    private static func distance(_ first: Int64, _ second: Int64) -> UInt64 { (first &- second).magnitude }

    mutating func forget(ssrc: SSRC) { streams[ssrc] = nil }

    private mutating func touch(_ ssrc: SSRC, at now: Instant) {
        guard streams[ssrc] == nil else { return }
        if streams.count >= Self.maximumStreams, let oldest = streams.min(by: { $0.value.lastSeen < $1.value.lastSeen })
        {
            streams[oldest.key] = nil
        }
        streams[ssrc] = Stream(lastSeen: now)
    }

    /// 32.32 fixed point to nanoseconds since 1900, which fit into 63 bits.
    static func nanoseconds(ntp: UInt64) -> Int64 {
        let seconds = Int64(ntp >> 32)
        // Swift's shifts bind tighter than its products.
        let fraction = Int64(((ntp & 0xFFFF_FFFF) * 1_000_000_000) >> 32)
        return seconds * 1_000_000_000 + fraction
    }
}
