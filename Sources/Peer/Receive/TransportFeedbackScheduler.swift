import Basics

/// Collects the arrivals of transport-wide numbers and determines when a report about them is due
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01).
struct TransportFeedbackScheduler: Sendable {
    /// The interval between reports (libwebrtc adapts 50–250 ms). A report has some 80 bytes, so a link on which few
    /// packets arrive, as of speech alone, gets fewer reports.
    static let interval: Duration = .milliseconds(100)
    static let slowInterval: Duration = .milliseconds(200)
    /// This many packets are reported as soon as the shorter interval is over: more than speech has in the longer one.
    static let busyPackets = 11

    /// When the next report is due; nil while there is nothing to report.
    private(set) var deadline: Instant?
    private var recorder = TransportFeedbackRecorder()
    /// Packets since the deadline was set.
    private var packets = 0

    /// Records the arrival of a packet with the transport-wide number `number`.
    mutating func received(_ number: SequenceNumber, at now: Instant) {
        recorder.received(number, at: now)
        packets += 1
        guard let due = deadline else {
            packets = 1
            deadline = now + Self.slowInterval
            return
        }
        if packets == Self.busyPackets {
            deadline = max(now, due - (Self.slowInterval - Self.interval))
        }
    }

    /// The reports about all new arrivals, if they are due.
    mutating func makeFeedback(senderSSRC: SSRC, mediaSSRC: SSRC, at now: Instant) -> [TransportFeedback] {
        guard let due = deadline, now >= due else { return [] }
        deadline = nil
        return recorder.makeFeedback(senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, at: now)
    }
}
