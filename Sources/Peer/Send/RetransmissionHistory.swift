import Basics

/// What was sent lately, so that it can be sent again: references into shared frames, no copies of packets.
struct RetransmissionHistory: Sendable {
    /// Older than this nobody waits for it.
    static let age: Duration = .milliseconds(1500)
    /// A power of two; 1.5 s at 2.5 Mbit/s are 430 packets.
    static let capacity = 1024
    /// Of the media's bytes, what may go out a second time. str0m's 0.15 is used up at 10 % loss, where repairs get
    /// lost as well.
    static let share = 0.25
    /// What may be spent at once, in bytes, however little is sent …
    static let leastAllowance = 20_000
    /// … and so much of the media's time: a burst that takes 30 full packets is mended at once, or it costs a keyframe.
    static let allowanceTime: Duration = .milliseconds(500)

    /// By then feedback has told of a packet: a long round trip and the interval of the reports (libwebrtc: at most 250
    /// ms).
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
        /// The transport-wide number of the newest repair, where repairs have their own.
        var repairSequence: SequenceNumber?
        /// Feedback told that a repair arrived.
        var isRepaired = false
        /// For resending on the same SSRC: the very same bytes, or one nonce would protect two messages.
        var transportSequence: SequenceNumber?
        var sendTime: UInt32
        /// What the receiver was told with it; the same bytes again, for the same reason.
        var hold: PlayoutDelay?
    }

    /// A repair of which feedback has to tell yet.
    private struct OpenRepair {
        var sequence: SequenceNumber
        var number: SequenceNumber
        var sent: Instant
        /// From the first sending to this one.
        var lateness: Duration
    }

    private var slots = [Packet?](repeating: nil, count: capacity)
    private var allowance = Double(leastAllowance)
    private var newest: SequenceNumber?
    private var open: [OpenRepair] = []

    /// Where a packet's number puts it.
    private static func slot(of sequence: SequenceNumber) -> Int { Int(sequence.rawValue) & (capacity - 1) }

    /// - Parameter rate: of the media.
    mutating func store(_ packet: Packet, bytes: Int, rate: BitRate) {
        slots[Self.slot(of: packet.sequence)] = packet
        newest = packet.sequence
        allowance = min(
            allowance + Double(bytes) * Self.share, Double(max(Self.leastAllowance, rate.bytes(in: Self.allowanceTime)))
        )
    }

    /// Whether a packet is there and young enough to be sent again.
    func holds(_ sequence: SequenceNumber, at now: Instant) -> Bool {
        guard let packet = slots[Self.slot(of: sequence)] else { return false }
        return packet.sequence == sequence && now - packet.sent <= Self.age
    }

    /// The packet asked for, if it is there, young enough, not sent again within the round trip before it was asked
    /// for, no repair of it is known to have arrived, and the budget allows; notes that it goes out again.
    mutating func take(
        _ sequence: SequenceNumber, asked: Instant, roundTrip: Duration, at now: Instant,
        hasArrived: (SequenceNumber) -> Bool
    ) -> Packet? {
        let slot = Self.slot(of: sequence)
        guard var packet = slots[slot], packet.sequence == sequence, now - packet.sent <= Self.age else { return nil }
        // A little less than a round trip: the peer asks again after one, by its own measure of it. What counts is when
        // it asked: the repairs of a burst wait for the pacer for longer than that, and the peer asks again for what is
        // on its way already.
        if let resent = packet.resent, asked - resent < roundTrip * 3 / 4 { return nil }
        // The peer asked before the repair was there, and feedback overtook what waited here.
        if packet.isRepaired || packet.repairSequence.map(hasArrived) == true { return nil }
        let size = packet.frame.fragments[packet.fragment].range.count
        guard allowance >= Double(size) else { return nil }
        allowance -= Double(size)
        packet.resent = now
        slots[slot] = packet
        return packet
    }

    /// The repair of a packet leaves under a transport-wide number of its own.
    mutating func repairing(_ sequence: SequenceNumber, as number: SequenceNumber, at now: Instant) {
        let slot = Self.slot(of: sequence)
        guard let packet = slots[slot], packet.sequence == sequence else { return }
        slots[slot]?.repairSequence = number
        open.append(OpenRepair(sequence: sequence, number: number, sent: now, lateness: now - packet.sent))
    }

    /// By how much the latest packet was late of those whose first repair, as feedback has told by now, arrived; nil
    /// without any.
    mutating func takeLateness(at now: Instant, hasArrived: (SequenceNumber) -> Bool) -> Duration? {
        var latest: Duration?
        // In the order of their sending: what is repaired already was not late by a later try.
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

    /// The newest packet, as payload of a probe.
    func forProbe(at now: Instant) -> Packet? {
        guard let newest, let packet = slots[Self.slot(of: newest)], now - packet.sent <= Self.age else { return nil }
        return packet
    }
}
