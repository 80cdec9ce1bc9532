import Basics

/// Records when transport-wide numbers arrived and makes the feedback about them.
///
/// A late packet below the reported numbers lowers the next feedback's base, so that the sender does not count a
/// reordered packet as lost for ever (mediasoup#1059).
struct TransportFeedbackRecorder: Sendable {
    /// Arrivals are kept this long, to be reported again together with a late one.
    static let retention: Duration = .milliseconds(500)
    /// The largest feedback, header included: the safe UDP payload minus SRTCP's trailer (pion/interceptor#416 exceeded
    /// the MTU).
    static let maximumBytes = 1150
    /// The most numbers that one feedback covers; a larger jump starts anew.
    static let maximumSpan: Int64 = 0x7FFF
    /// The most records: 500 ms at 16 000 packets per second.
    static let maximumRecords = 8192
    /// The most packets that may have overtaken one: more than a second of a full link, and the bound of the work per
    /// packet.
    static let maximumReordering = 1024

    private var unwrapper = SequenceUnwrapper()
    /// Sorted by number.
    private var records: [(sequence: Int64, arrival: Instant)] = []
    private var nextToReport: Int64?
    private var feedbackCount: UInt8 = 0

    init() {}

    /// Whether anything arrived since the last feedback.
    var hasNewArrivals: Bool {
        guard let nextToReport, let last = records.last else { return false }
        return last.sequence >= nextToReport
    }

    /// Records the arrival of a packet; every packet counts, padding, probes and RTX too.
    mutating func received(_ sequence: SequenceNumber, at now: Instant) {
        let number = unwrapper.unwrap(sequence)
        if let last = records.last, (number &- last.sequence).magnitude > Self.maximumSpan.magnitude {
            records.removeAll(keepingCapacity: true)
            nextToReport = nil
        }
        // The packet is almost always the newest: the search from the end takes one step. A packet that more than
        // `maximumReordering` others have overtaken is not reported.
        var index = records.count
        while index > 0, records[index - 1].sequence > number {
            index -= 1
            if records.count - index > Self.maximumReordering { return }
        }
        if index > 0, records[index - 1].sequence == number { return }
        records.insert((number, now), at: index)
        nextToReport = min(nextToReport ?? number, number)
        if records.count > Self.maximumRecords { records.removeFirst(records.count - Self.maximumRecords) }
    }

    /// The feedback for everything new since the last call, each packet within `maximumBytes`; none if nothing is new.
    mutating func makeFeedback(senderSSRC: SSRC, mediaSSRC: SSRC, at now: Instant) -> [TransportFeedback] {
        guard var base = nextToReport, hasNewArrivals else { return [] }
        var result: [TransportFeedback] = []
        var index = records.firstIndex { $0.sequence >= base } ?? records.count
        // Numbers whose records were removed are not reported as lost a second time.
        if index < records.count, records[index].sequence - base > Self.maximumSpan { base = records[index].sequence }
        while index < records.count {
            let first = records[index]
            let reference = first.arrival.nanoseconds / 64_000_000
            var time = reference * 64_000_000
            var feedback = TransportFeedback(
                senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, baseSequence: SequenceNumber(wrapping: base),
                statusCount: 0,
                referenceTime: (Int32(truncatingIfNeeded: reference) << 8) >> 8, feedbackCount: feedbackCount,
                arrivals: [])
            var position = base
            var cost = 24 * 7  // in sevenths of a byte: a two-bit vector spends two bytes on seven symbols
            while index < records.count {
                let record = records[index]
                let ticks = Self.roundedTicks(record.arrival.nanoseconds - time)
                guard let delta = Int16(exactly: ticks), record.sequence - base < Self.maximumSpan else { break }
                let gap = Int(record.sequence - position)
                let gapCost = gap < 21 ? gap * 2 : 7 * (8 + 2 * (gap / 0x1FFF))
                let step = gapCost + 2 + 7 * ((0...255).contains(delta) ? 1 : 2)
                if cost + step > 7 * Self.maximumBytes { break }
                cost += step
                feedback.arrivals.append(.init(sequence: SequenceNumber(wrapping: record.sequence), delta: delta))
                time += ticks * 250_000
                position = record.sequence + 1
                index += 1
            }
            guard position > base else {
                // The delta of the next record does not fit from this base: start at the record itself.
                base = first.sequence
                continue
            }
            feedback.statusCount = UInt16(truncatingIfNeeded: position - base)
            result.append(feedback)
            feedbackCount &+= 1
            base = position
        }
        nextToReport = base
        let oldest = now - Self.retention
        let stale = records.firstIndex { $0.arrival >= oldest } ?? records.count
        if stale > 0 { records.removeFirst(stale) }
        return result
    }

    private static func roundedTicks(_ nanoseconds: Int64) -> Int64 {
        (nanoseconds + (nanoseconds >= 0 ? 125_000 : -125_000)) / 250_000
    }
}
