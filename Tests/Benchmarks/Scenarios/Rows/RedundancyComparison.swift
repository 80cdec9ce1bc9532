public import Basics
import Simulation

/// The gain and cost of RED (RFC 2198, each packet carries a full copy of the one before) compared with Opus' in-band
/// FEC.
public struct RedundancyComparison: Sendable {
    public var line: String
    /// The packets, in per cent, that are neither received nor contained in the next one. Equal for both methods at a
    /// distance of one packet.
    public var lostWithNothing = 0.0
    public var lostWithOneBack = 0.0
    /// The same with RED of two copies.
    public var lostWithTwoBack = 0.0
    /// The rate on the link, including headers.
    public var inBandRate = BitRate.zero
    public var oneBackRate = BitRate.zero
    public var twoBackRate = BitRate.zero

    /// The header bytes of a packet on the link, as in `AudioProfile`, and RED's own per copy.
    static let headers = 72
    static let redHeader = 5
    static let payload = 80

    /// Sends a million packets over each link.
    public static func all(seed: UInt64, packets: Int = 1_000_000) -> [RedundancyComparison] {
        [
            ("5 % random", LossModel.random(0.05)), ("10 % random", .random(0.10)),
            ("5 % in bursts of 3", .bursts(GilbertElliott(averageLoss: 0.05, burstLength: 3))),
            ("5 % in bursts of 8", .bursts(GilbertElliott(averageLoss: 0.05, burstLength: 8))),
        ].map { measure($0.0, $0.1, packets: packets, seed: seed) }
    }

    private static func measure(_ name: String, _ loss: LossModel, packets: Int, seed: UInt64) -> RedundancyComparison {
        var link = SimulatedLink<Int>(LinkConditions(delay: .zero, loss: loss), seed: seed)
        var came = [Bool](repeating: false, count: packets + 2)
        for packet in 0..<packets {
            let now = Instant(nanoseconds: Int64(packet) * 20_000_000)
            link.send(packet, size: payload, at: now)
            while let arrived = link.receive(at: now) { came[arrived] = true }
        }
        var result = RedundancyComparison(line: name)
        var counts = (nothing: 0, one: 0, two: 0)
        for packet in 0..<packets where !came[packet] {
            counts.nothing += 1
            if came[packet + 1] { continue }
            counts.one += 1
            if !came[packet + 2] { counts.two += 1 }
        }
        func percent(_ count: Int) -> Double { 100 * Double(count) / Double(packets) }
        result.lostWithNothing = percent(counts.nothing)
        result.lostWithOneBack = percent(counts.one)
        result.lostWithTwoBack = percent(counts.two)
        func rate(_ bytes: Int) -> BitRate { BitRate(bitsPerSecond: (bytes + headers) * 8 * 50) }
        result.inBandRate = rate(payload)
        result.oneBackRate = rate(payload * 2 + redHeader)
        result.twoBackRate = rate(payload * 3 + redHeader * 2)
        return result
    }
}
