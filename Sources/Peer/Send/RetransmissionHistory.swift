import Basics

/// What was sent lately, so that it can be sent again: references into shared frames, no copies of packets.
struct RetransmissionHistory: Sendable {
    /// Older than this nobody waits for it.
    static let age: Duration = .milliseconds(1500)
    /// A power of two; 1.5 s at 2.5 Mbit/s are 430 packets.
    static let capacity = 1024
    /// Of the media's bytes, what may go out a second time. str0m's 0.15 is used up at 10 % loss, where repairs get lost as well.
    static let share = 0.25
    /// What may be spent at once, in bytes, however little is sent …
    static let leastAllowance = 20_000
    /// … and so much of the media's time: a burst that takes 30 full packets is mended at once, or it costs a keyframe.
    static let allowanceTime: Duration = .milliseconds(500)

    struct Packet: Sendable {
        var sequence: UInt16
        var timestamp: UInt32
        var payloadType: UInt8
        var marker: Bool
        var frame: PacketizedVideoFrame
        var fragment: Int
        var picture: PictureNumbers
        var sent: Instant
        var resent: Instant?
        /// For resending on the same SSRC: the very same bytes, or one nonce would protect two messages.
        var transportSequence: UInt16?
        var sendTime: UInt32
    }

    private var slots = [Packet?](repeating: nil, count: capacity)
    private var allowance = Double(leastAllowance)
    private var newest: UInt16?

    /// - Parameter rate: of the media.
    mutating func store(_ packet: Packet, bytes: Int, rate: BitRate) {
        slots[Int(packet.sequence) & (Self.capacity - 1)] = packet
        newest = packet.sequence
        allowance = min(
            allowance + Double(bytes) * Self.share, Double(max(Self.leastAllowance, rate.bytes(in: Self.allowanceTime))))
    }

    /// The packet asked for, if it is there, young enough, not sent again within the round trip before it was asked for, and the budget
    /// allows; notes that it goes out again.
    mutating func take(_ sequence: UInt16, asked: Instant, roundTrip: Duration, at now: Instant) -> Packet? {
        let slot = Int(sequence) & (Self.capacity - 1)
        guard var packet = slots[slot], packet.sequence == sequence, now - packet.sent <= Self.age else { return nil }
        // A little less than a round trip: the peer asks again after one, by its own measure of it. What counts is when it asked: the
        // repairs of a burst wait for the pacer for longer than that, and the peer asks again for what is on its way already.
        if let resent = packet.resent, asked - resent < roundTrip * 3 / 4 { return nil }
        let size = packet.frame.fragments[packet.fragment].range.count
        guard allowance >= Double(size) else { return nil }
        allowance -= Double(size)
        packet.resent = now
        slots[slot] = packet
        return packet
    }

    /// The newest packet, as payload of a probe.
    func forProbe(at now: Instant) -> Packet? {
        guard let newest, let packet = slots[Int(newest) & (Self.capacity - 1)], now - packet.sent <= Self.age else { return nil }
        return packet
    }
}
