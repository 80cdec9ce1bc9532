import Basics

/// What a peer's receivers take of one stream of ours at most for now: the bounding set of RFC 5104 §3.5.4.
///
/// A limit counts each packet's overhead as its receiver sees it, so of two limits the one binds where packets are few
/// and the other where they are many. Those that bind nowhere are dropped: who wished them learns from the notification
/// that others are stricter.
struct TemporaryLimits: Sendable, Equatable {
    /// A peer has a handful of SSRCs; who names more is not kept count of.
    static let most = 16

    /// The limits that bind, with who wished them.
    private(set) var bounding: [TemporaryMaxBitrate.Limit] = []

    /// Takes the wish of `limit.ssrc`, which replaces its earlier one.
    mutating func request(_ limit: TemporaryMaxBitrate.Limit) {
        var limits = bounding.filter { $0.ssrc != limit.ssrc }
        guard limits.count < Self.most else { return }
        limits.append(limit)
        bounding = limits.indices.filter { Self.binds(limits[$0], among: limits, at: $0) }.map { limits[$0] }
    }

    /// Who has left wishes nothing; whether that changed anything.
    mutating func remove(_ owners: [SSRC]) -> Bool {
        let before = bounding.count
        bounding.removeAll { owners.contains($0.ssrc) }
        return bounding.count != before
    }

    /// Whether there is a packet rate at which no other limit leaves less for payload.
    private static func binds(
        _ limit: TemporaryMaxBitrate.Limit, among limits: [TemporaryMaxBitrate.Limit], at index: Int
    ) -> Bool {
        var lowest = 0.0
        var highest = Double.infinity
        for (place, other) in limits.enumerated() where place != index {
            let room = Double(other.bitRate.bitsPerSecond) - Double(limit.bitRate.bitsPerSecond)
            let slope = Double(other.overhead - limit.overhead) * 8
            if slope > 0 {
                highest = min(highest, room / slope)
            } else if slope < 0 {
                lowest = max(lowest, room / slope)
            } else if room < 0 || room == 0 && place < index {
                return false
            }
        }
        // Beyond the packet rate at which nothing is left for payload, nothing binds.
        return lowest <= highest && Double(limit.bitRate.bitsPerSecond) >= Double(limit.overhead) * 8 * lowest
    }

    /// What may leave of the stream, RTP headers included; nil: nothing limits it.
    ///
    /// - Parameters:
    ///   - packets: how many leave a second.
    ///   - header: of each, bytes of RTP that count as ours.
    func rate(packets: Double, header: Double) -> BitRate? {
        let rates = bounding.map {
            Double($0.bitRate.bitsPerSecond) - max(0, Double($0.overhead) - header) * 8 * packets
        }
        return rates.min().map { BitRate(bitsPerSecond: Int(saturating: max($0, 0))) }
    }
}
