import Basics

/// The result for one sent packet, as the peer's transport-wide feedback reports it.
struct PacketResult: Sendable {
    var sequence: Int64
    var sent: Instant
    /// Bytes on the wire, with UDP payload headers.
    var size: Int
    /// The probe cluster that it belonged to.
    var cluster: Int?
    /// When it arrived on the peer's clock; nil while it is missing.
    var arrival: Duration?
}

/// The arrivals that one transport-wide feedback reports for a range of numbers.
struct ArrivalReport: Sendable {
    /// The first number that it covers.
    var base: SequenceNumber
    /// How many it covers.
    var count: Int
    /// The packets that arrived, in rising order: the offset from `base`, and the time on the peer's clock. All others
    /// did not arrive.
    var arrivals: [(offset: Int, time: Duration)]

    init(base: SequenceNumber, count: Int, arrivals: [(offset: Int, time: Duration)]) {
        self.base = base
        self.count = count
        self.arrivals = arrivals
    }

    init(_ feedback: TransportFeedback) {
        base = feedback.baseSequence
        count = Int(feedback.statusCount)
        arrivals = []
        arrivals.reserveCapacity(feedback.arrivals.count)
        var time = Int64(feedback.referenceTime) * TransportFeedback.referenceMicroseconds
        for arrival in feedback.arrivals {
            time += Int64(arrival.delta) * TransportFeedback.deltaMicroseconds
            arrivals.append((arrival.sequence.steps(from: base), .microseconds(time)))
        }
    }
}

/// Remembers when each packet with a transport-wide sequence number left, until feedback reports its arrival.
struct SentPacketHistory: Sendable {
    private struct Entry {
        var sent: Instant
        var size: Int
        var cluster: Int?
        var state: State
    }
    private enum State { case inFlight, lost, received }

    /// Feedback about older packets says nothing about the link as it is now. libwebrtc keeps 60 s; our horizon is a
    /// few round trips.
    static let horizon: Duration = .seconds(10)
    static let capacity = 1 << 14

    private var entries: [Entry] = []
    /// The sequence number of `entries[head]`.
    private var first: Int64
    private var head = 0
    private(set) var bytesInFlight = 0
    private(set) var lastSent: Instant = .distantPast
    /// When the oldest packet that no feedback has covered left; nil when there is none.
    private(set) var oldestUnreported: Instant?
    /// How many packets reports have made us visit, for tests: the work that a peer can cause.
    private(set) var walked = 0

    init(firstSequence: SequenceNumber = 0) {
        first = Int64(firstSequence.rawValue)
    }

    /// The number that the next packet will carry.
    var nextSequence: SequenceNumber { SequenceNumber(wrapping: first &+ Int64(entries.count - head)) }

    /// Records a packet and returns its number.
    mutating func sent(size: Int, cluster: Int?, at now: Instant) -> SequenceNumber {
        let number = nextSequence
        entries.append(Entry(sent: now, size: size, cluster: cluster, state: .inFlight))
        bytesInFlight += size
        lastSent = now
        if oldestUnreported == nil { oldestUnreported = now }
        expire(at: now)
        return number
    }

    /// Applies one report; results are in sequence order and leave out packets that were already known as received.
    ///
    /// Only numbers in the history are visited, each once: a report about packets that were never sent, or are long
    /// forgotten, costs nothing.
    mutating func apply(_ report: ArrivalReport) -> [PacketResult] {
        let end = first &+ Int64(entries.count - head)
        let newest = end &- 1
        let base = report.base.extended(near: newest)
        let after = base &+ Int64(report.count)
        var results: [PacketResult] = []
        var sequence = max(base, first)
        let stop = min(after, end)
        var next = report.arrivals.firstIndex { $0.offset >= sequence - base } ?? report.arrivals.endIndex
        while sequence < stop {
            defer { sequence += 1 }
            walked &+= 1
            var arrival: Duration?
            if next < report.arrivals.endIndex, report.arrivals[next].offset == sequence - base {
                arrival = report.arrivals[next].time
                next += 1
            }
            let index = head + Int(sequence - first)
            switch entries[index].state {
            case .received: continue
            case .inFlight: bytesInFlight -= entries[index].size
            case .lost: if arrival == nil { continue }
            }
            entries[index].state = arrival == nil ? .lost : .received
            results.append(
                PacketResult(
                    sequence: sequence, sent: entries[index].sent, size: entries[index].size,
                    cluster: entries[index].cluster,
                    arrival: arrival))
        }
        if after >= first { oldestUnreported = after < end ? entries[head + Int(after - first)].sent : nil }
        return results
    }

    /// Whether feedback reported that this packet arrived.
    func hasArrived(_ number: SequenceNumber) -> Bool {
        index(of: number).map { entries[$0].state == .received } ?? false
    }

    /// Excludes this packet: further reports about it are not used.
    mutating func disregard(_ number: SequenceNumber) {
        guard let index = index(of: number) else { return }
        if entries[index].state == .inFlight { bytesInFlight -= entries[index].size }
        entries[index].state = .received
    }

    private func index(of number: SequenceNumber) -> Int? {
        let newest = first &+ Int64(entries.count - head) &- 1
        let index = head + Int(number.extended(near: newest) &- first)
        return index >= head && index < entries.count ? index : nil
    }

    private mutating func expire(at now: Instant) {
        while head < entries.count, entries[head].sent + Self.horizon < now || entries.count - head > Self.capacity {
            if entries[head].state == .inFlight { bytesInFlight -= entries[head].size }
            head += 1
            first &+= 1
        }
        if head > 1024, head * 2 > entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }
}
