import Basics
import Simulation
import Testing

@testable import Peer

@Suite("HandshakeRate")
struct HandshakeRateTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    /// A handshake whose second flight has so many bytes each way, and which takes so long from the peer's first one on.
    private func shown(
        bytes: Int = 600, milliseconds: Int64, path: Duration? = .milliseconds(100), repeated: Int = 0
    ) -> Double? {
        var handshake = HandshakeRate()
        handshake.sent(176)
        handshake.received(180, at: Self.start)
        handshake.sent(bytes)
        for repetition in 0..<repeated {
            handshake.received(180, at: Self.start + .milliseconds(50 << repetition))
            handshake.sent(bytes)
        }
        let end = Self.start + .milliseconds(milliseconds)
        handshake.received(bytes, at: end)
        return handshake.rate(path: path, at: end)
    }

    @Test("A thin link shows its rate: the bits of both flights over what they took beyond a round trip")
    func thin() throws {
        // 2 × 628 bytes in 300 ms.
        let rate = try #require(shown(milliseconds: 400))
        #expect(abs(rate - 33_493) < 1, "\(rate)")
    }

    @Test("A quick handshake, one without a round trip, and one with a lost flight show nothing")
    func unknown() {
        #expect(shown(milliseconds: 200) == nil)
        #expect(shown(milliseconds: 400, path: nil) == nil)
        #expect(shown(milliseconds: 400, path: .milliseconds(500)) == nil)
        #expect(shown(milliseconds: 1200) == nil)
    }

    @Test("A long way is no thin link")
    func longWay() { #expect(shown(milliseconds: 640, path: .milliseconds(600)) == nil) }

    @Test("What the peer repeats has taken the link's time too; our answers to it count once")
    func repeated() throws {
        // 2 × 628 and 208 bytes in 300 ms.
        let rate = try #require(shown(milliseconds: 400, repeated: 1))
        #expect(abs(rate - 39_040) < 1, "\(rate)")
    }

    @Test(
        "Two datagrams that come together show that the link is not thin",
        arguments: [(1, true), (12, true), (15, false), (80, false)])
    func pair(gap: Int64, isFast: Bool) {
        var handshake = HandshakeRate()
        handshake.received(1200, at: Self.start)
        // With its headers 2624 bits.
        handshake.received(300, at: Self.start + .milliseconds(gap))
        handshake.sent(700)
        let end = Self.start + .milliseconds(500)
        handshake.received(600, at: end)
        #expect((handshake.rate(path: .milliseconds(100), at: end) == nil) == isFast)
    }

    /// The first estimate that the server's side announces in a call over such a link.
    private func firstEstimate(_ link: LinkConditions) throws -> BitRate? {
        let call = try SimulatedCall.connected(
            up: link, down: link, seed: 5, media: CallMedia(), for: .milliseconds(100))
        return call.serverEvents.lazy.compactMap { if case .estimate(let rate, _, _) = $0 { rate } else { nil } }.first
    }

    @Test("On 32 kbit/s a call begins with what the handshake has shown; on a long way with the usual rate")
    func calls() throws {
        let thin = try #require(try firstEstimate(LinkConditions(delay: .milliseconds(50), rate: .kilobits(32))))
        #expect((BitRate.kilobits(30)...(.kilobits(60))).contains(thin), "\(thin)")
        // Nothing is announced before the first probe is answered.
        #expect(try firstEstimate(LinkConditions(delay: .milliseconds(300), rate: .megabits(3))) == nil)
    }

    @Test("Where a lost flight made a good link look thin, the first probe shows it, and the call begins as others do")
    func refuted() {
        var estimator = BandwidthEstimator(BandwidthEstimatorConfiguration(), usesFeedback: true)
        estimator.start(at: Self.start, handshake: .milliseconds(600), shown: 40_000)
        #expect(estimator.isMeasured && estimator.estimate == .kilobits(40))
        let probe = estimator.nextProbe()
        var now = Self.start
        var arrivals: [Duration?] = []
        for _ in 0..<5 {
            estimator.packetSent(size: 116, cluster: probe?.id, at: now)
            now += .milliseconds(8)
            arrivals.append(.seconds(9) + (now - Self.start))
        }
        estimator.receive(feedback: 0, arrivals: arrivals, at: now + .milliseconds(100))
        #expect(!estimator.isMeasured && estimator.estimate >= .kilobits(300))
        #expect(estimator.nextProbe().map { $0.rate >= .kilobits(900) } == true)
    }
}
