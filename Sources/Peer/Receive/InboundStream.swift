import Basics

/// One received SSRC: its sequence numbers and timestamps in 64 bits, and its counts (RFC 3550 §6.4.1).
struct InboundStream: Sendable {
    let ssrc: SSRC
    let clockRate: Int64
    private var tracker = SequenceTracker()
    private var timestamps = TimestampUnwrapper()
    private var highest: Int64?
    var reception: ReceptionStatistics
    private var meter = RateMeter()
    private(set) var lastPacket: Instant
    /// Whether the stream started anew with the last packet.
    private(set) var wasReset = false

    init(ssrc: SSRC, clockRate: Int64, at now: Instant) {
        self.ssrc = ssrc
        self.clockRate = clockRate
        reception = ReceptionStatistics(ssrc: ssrc, clockRate: clockRate)
        lastPacket = now
    }

    /// Unwraps a packet's numbers and counts it; nil if it is to be dropped.
    mutating func accept(_ header: RTPHeader, bytes: Int, at now: Instant) -> (sequence: Int64, timestamp: Int64)? {
        wasReset = false
        let sequence: Int64
        switch tracker.accept(header.sequence) {
        case .accepted(let number): sequence = number
        case .reset(let number):
            sequence = number
            wasReset = true
            reception.reset()
        case .suspect: return nil
        }
        // Padding may carry any timestamp: it does not advance the clock.
        let timestamp =
            header.payloadRange.isEmpty ? timestamps.peek(header.timestamp) : timestamps.unwrap(header.timestamp)
        if !header.payloadRange.isEmpty || highest != nil {
            highest = max(highest ?? sequence, sequence)
            reception.received(sequence: sequence, timestamp: timestamp, bytes: bytes, at: now)
        }
        meter.add(bytes, at: now)
        lastPacket = now
        return (sequence, timestamp)
    }

    mutating func fill(_ statistics: inout ReceivedStatistics, at now: Instant) {
        statistics.bitRate = meter.rate(at: now)
        statistics.packets = reception.packetsReceived
        statistics.bytes = reception.bytesReceived
        statistics.packetsLost = Int(reception.packetsLost)
        statistics.lossFraction = reception.lossFraction
        statistics.jitter = reception.jitterDuration
    }

    /// The numbers of a packet that was retransmitted on another SSRC.
    func numbers(original: SequenceNumber, timestamp: RTPTimestamp) -> (sequence: Int64, timestamp: Int64)? {
        guard let highest else { return nil }
        return (original.extended(near: highest), timestamps.peek(timestamp))
    }
}
