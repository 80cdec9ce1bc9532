import Basics
import Testing

@testable import Peer

@Suite("The retransmission timeout of SCTP") struct SCTPRoundTripTests {
    private func measured(_ milliseconds: [Int64]) -> SCTPRoundTrip {
        var roundTrip = SCTPRoundTrip()
        for (index, sample) in milliseconds.enumerated() {
            roundTrip.sent(UInt32(index), at: .zero)
            roundTrip.acknowledged(UInt32(index), at: .zero + .milliseconds(sample))
        }
        return roundTrip
    }

    @Test(
        "It follows the round trip and its variation, within limits",
        arguments: [([], 1000), ([10], 300), ([200], 600), ([200, 200], 500), ([5000], 10_000)] as [([Int64], Int64)])
    func timeout(samples: [Int64], timeout: Int64) {
        #expect(measured(samples).timeout == .milliseconds(timeout))
    }

    @Test("A retransmitted chunk measures nothing, and one is measured at a time")
    func karn() {
        var roundTrip = SCTPRoundTrip()
        roundTrip.sent(1, at: .zero)
        roundTrip.sent(2, at: .zero)
        roundTrip.acknowledged(2, at: .zero + .seconds(1))
        roundTrip.sentAgain(1)
        roundTrip.acknowledged(1, at: .zero + .seconds(1))
        #expect(roundTrip.timeout == .seconds(1))
    }

    @Test("A timeout doubles it, up to ten seconds")
    func silence() {
        var roundTrip = measured([200])
        roundTrip.timedOut()
        #expect(roundTrip.timeout == .milliseconds(1200))
        for _ in 0..<5 { roundTrip.timedOut() }
        #expect(roundTrip.timeout == .seconds(10))
    }
}
