import Basics
import Testing

@testable import Peer

@Suite("Temporary limits of a peer (RFC 5104 §3.5.4)")
struct TemporaryLimitsTests {
    private func limit(_ owner: SSRC, _ kilobits: Int, _ overhead: Int) -> TemporaryMaxBitrate.Limit {
        .init(ssrc: owner, bitRate: .kilobits(kilobits), overhead: overhead)
    }

    private func limits(_ requests: [TemporaryMaxBitrate.Limit]) -> TemporaryLimits {
        var limits = TemporaryLimits()
        for request in requests { limits.request(request) }
        return limits
    }

    @Test("The stricter of two limits with the same overhead binds; the other is not kept")
    func stricter() {
        let limits = limits([limit(1, 300, 40), limit(2, 200, 40), limit(3, 400, 40)])
        #expect(limits.bounding == [limit(2, 200, 40)])
        #expect(limits.rate(packets: 50, header: 40) == .kilobits(200))
    }

    @Test("Only the owner of a limit may raise it")
    func lifted() {
        #expect(limits([limit(1, 200, 40), limit(1, 900, 40)]).bounding == [limit(1, 900, 40)])
        #expect(limits([limit(1, 200, 40), limit(2, 900, 40)]).bounding == [limit(1, 200, 40)])
    }

    @Test(
        "If one counts more overhead per packet, both bind at their packet rates; a limit between them that never binds is dropped"
    )
    func crossing() {
        // 200 kbit/s with 20 bytes and 230 with 60 meet at 93.75 packets a second.
        let limits = limits([limit(1, 200, 20), limit(2, 230, 60), limit(3, 225, 40)])
        #expect(limits.bounding == [limit(1, 200, 20), limit(2, 230, 60)])
        #expect(limits.rate(packets: 50, header: 0) == .kilobits(192))
        #expect(limits.rate(packets: 125, header: 0) == .kilobits(170))
        // Our own headers are part of what a receiver counts, and cost nothing.
        #expect(limits.rate(packets: 50, header: 20) == .kilobits(200))
        // 200 kbit/s of packets of 20 bytes are 1250 a second: they would have to meet beyond that.
        #expect(self.limits([limit(1, 200, 20), limit(2, 500, 22)]).bounding == [limit(1, 200, 20)])
    }

    @Test("A receiver that leaves takes its limit along")
    func leaving() {
        var limits = limits([limit(1, 200, 40)])
        let another = limits.remove([2])
        let owner = limits.remove([1, 2])
        #expect(!another && owner)
        #expect(limits.rate(packets: 50, header: 20) == nil)
    }

    @Test("The limits of a peer with very many SSRCs are bounded")
    func many() {
        // Each binds at some packet rate: a convex fan.
        let fan = (0..<40).map { limit(SSRC(UInt32($0)), 1000 + $0 * $0 * 10, $0 * 10) }
        #expect(limits(fan).bounding.count <= TemporaryLimits.most)
    }

    @Test("No rate goes below zero")
    func nothing() { #expect(limits([limit(1, 100, 400)]).rate(packets: 1000, header: 12) == .zero) }
}
