import Basics

/// The temporary limits of a peer's receivers on one stream of ours: the bounding set of RFC 5104 §3.5.4.
///
/// A limit counts each packet's overhead as its receiver sees it, so of two limits one binds at low packet rates and
/// the other at high ones. Limits that bind nowhere are dropped: the notification shows their owners that others are
/// stricter.
struct TemporaryLimits: Sendable, Equatable {
    /// The most limits: a peer has a handful of SSRCs; further ones are ignored.
    static let most = 16

    /// The limits that bind, with their owners.
    private(set) var bounding: [TemporaryMaxBitrate.Limit] = []

    /// Takes the request of `limit.ssrc`, which replaces its earlier one.
    mutating func request(_ limit: TemporaryMaxBitrate.Limit) {
        var limits = bounding.filter { $0.ssrc != limit.ssrc }
        guard limits.count < Self.most else { return }
        limits.append(limit)
        bounding = limits.indices.filter { Self.binds(limits[$0], among: limits, at: $0) }.map { limits[$0] }
    }

    /// Removes the limits of receivers that have left; whether that changed anything.
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

    /// The highest rate of the stream, RTP headers included; nil: no limit.
    ///
    /// - Parameters:
    /// - packets: packets per second.
    /// - header: RTP bytes of each that count as ours.
    func rate(packets: Double, header: Double) -> BitRate? {
        let rates = bounding.map {
            Double($0.bitRate.bitsPerSecond) - max(0, Double($0.overhead) - header) * 8 * packets
        }
        return rates.min().map { BitRate(bitsPerSecond: Int(saturating: max($0, 0))) }
    }
}
