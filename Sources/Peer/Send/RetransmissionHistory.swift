import Basics

/// The packets sent lately, for retransmission: references into shared frames, no copies of packets.
struct RetransmissionHistory: Sendable {
    /// A receiver no longer waits for a packet older than this …
    static let ageInMotion: Duration = .milliseconds(1500)
    /// … but for one of a still, which takes seconds to arrive, and is shown until the next one.
    static let ageOfStills: Duration = .seconds(6)
    /// A power of two; 1.5 s at 2.5 Mbit/s are 430 packets.
    static let capacity = 1024
    /// The least share of the media's bytes that may be retransmitted. str0m's 0.15 is used up at 10 % loss, where
    /// repairs get lost as well.
    static let leastShare = 0.25
    /// The greatest share, beside which the picture still gets more than its repair.
    static let mostShare = 0.8
    /// What requests need beyond the mean: some are for repairs that are on their way.
    static let shareMargin = 1.3
    /// The largest burst of retransmissions, in bytes, however little is sent …
    static let leastAllowance = 20_000
    /// … and in time at the media's rate: a burst of 30 lost full packets is repaired at once, or it costs a keyframe.
    static let allowanceTime: Duration = .milliseconds(500)

    /// The time within which feedback has covered a packet: a long round trip and the interval of the reports
    /// (libwebrtc: at most 250 ms).
    static let feedbackTime: Duration = .milliseconds(500)

    struct Packet: Sendable {
        var sequence: SequenceNumber
        var timestamp: RTPTimestamp
        var payloadType: UInt8
        var marker: Bool
        var frame: PacketizedVideoFrame
        var fragment: Int
        var picture: PictureNumbers
        var sent: Instant
        var resent: Instant?
        /// The transport-wide number of the newest repair, if repairs have their own.
        var repairSequence: SequenceNumber?
        /// Whether feedback reported that a repair arrived.
        var isRepaired = false
        /// For a retransmission on the same SSRC: it must have the same bytes, or one nonce would protect two messages.
        var transportSequence: SequenceNumber?
        var sendTime: UInt32
        /// The playout delay announced with it; unchanged in a retransmission, for the same reason.
        var hold: PlayoutDelay?
    }

    /// A repair that feedback has not covered yet.
    private struct OpenRepair {
        var sequence: SequenceNumber
        var number: SequenceNumber
        var sent: Instant
        /// The time from the first transmission to this one.
        var lateness: Duration
    }

    /// How old a packet may be that goes out again.
    var age = ageInMotion
    private var slots = [Packet?](repeating: nil, count: capacity)
    private var allowance = Double(leastAllowance)
    private var newest: SequenceNumber?
    private var open: [OpenRepair] = []

    /// The slot of a sequence number.
    private static func slot(of sequence: SequenceNumber) -> Int { Int(sequence.rawValue) & (capacity - 1) }

    /// The share of the media's bytes that may be retransmitted: a lost packet is sent until it, and the request for it,
    /// get through.
    static func share(loss: Double) -> Double {
        let needed = loss / max(1 - loss, 0.1) / max(1 - loss, 0.1)
        return min(max(needed * shareMargin, leastShare), mostShare)
    }

    /// - Parameters:
    ///   - rate: the rate of the media.
    ///   - loss: the part of all packets that is lost.
    ///   - isRepeated: some packets go out twice whatever is requested.
    mutating func store(_ packet: Packet, bytes: Int, rate: BitRate, loss: Double, isRepeated: Bool = false) {
        slots[Self.slot(of: packet.sequence)] = packet
        newest = packet.sequence
        allowance = min(
            allowance + Double(bytes) * (Self.share(loss: loss) + (isRepeated ? 1 : 0)),
            Double(max(Self.leastAllowance, rate.bytes(in: Self.allowanceTime)))
        )
    }

    /// Whether a packet is in the history and young enough to be retransmitted.
    func holds(_ sequence: SequenceNumber, at now: Instant) -> Bool {
        guard let packet = slots[Self.slot(of: sequence)] else { return false }
        return packet.sequence == sequence && now - packet.sent <= age
    }

    /// Takes the requested packet for retransmission and records it. nil if it is not there or too old, was sent again
    /// within the round trip before the request, is known to have arrived by a repair, or exceeds the budget.
    mutating func take(
        _ sequence: SequenceNumber, asked: Instant, roundTrip: Duration, at now: Instant,
        hasArrived: (SequenceNumber) -> Bool
    ) -> Packet? {
        let slot = Self.slot(of: sequence)
        guard var packet = slots[slot], packet.sequence == sequence, now - packet.sent <= age else { return nil }
        // A little less than a round trip: the peer repeats a request after one, by its own measure of it. The time of
        // the request counts: the repairs of a burst wait longer than that for the pacer, while the peer requests again
        // what is already on its way.
        if let resent = packet.resent, asked - resent < roundTrip * 3 / 4 { return nil }
        // The request was sent before the repair arrived, and feedback came while the request waited here.
        if packet.isRepaired || packet.repairSequence.map(hasArrived) == true { return nil }
        let size = packet.frame.fragments[packet.fragment].range.count
        guard allowance >= Double(size) else { return nil }
        allowance -= Double(size)
        packet.resent = now
        slots[slot] = packet
        return packet
    }

    /// Records that the repair of a packet leaves under a transport-wide number of its own.
    mutating func repairing(_ sequence: SequenceNumber, as number: SequenceNumber, at now: Instant) {
        let slot = Self.slot(of: sequence)
        guard let packet = slots[slot], packet.sequence == sequence else { return }
        slots[slot]?.repairSequence = number
        open.append(OpenRepair(sequence: sequence, number: number, sent: now, lateness: now - packet.sent))
    }

    /// The greatest lateness among the packets whose first repair has arrived, as feedback has reported by now; nil
    /// without any.
    mutating func takeLateness(at now: Instant, hasArrived: (SequenceNumber) -> Bool) -> Duration? {
        var latest: Duration?
        // In sending order: a packet that is already repaired was not late because of a later retransmission.
        while let repair = open.first, now - repair.sent >= Self.feedbackTime {
            open.removeFirst()
            let slot = Self.slot(of: repair.sequence)
            guard let packet = slots[slot], packet.sequence == repair.sequence, !packet.isRepaired,
                hasArrived(repair.number)
            else { continue }
            slots[slot]?.isRepaired = true
            latest = max(latest ?? .zero, repair.lateness)
        }
        return latest
    }

    /// The newest packet, as the payload of a probe.
    func forProbe(at now: Instant) -> Packet? {
        guard let newest, let packet = slots[Self.slot(of: newest)], now - packet.sent <= age else { return nil }
        return packet
    }
}
