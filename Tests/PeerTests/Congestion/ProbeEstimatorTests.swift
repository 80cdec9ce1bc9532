import Basics
import Testing

@testable import Peer

@Suite("ProbeEstimator")
struct ProbeEstimatorTests {
    private static let rate = BitRate.kilobits(900)
    private static let size = 450
    private static let cluster = ProbeCluster(id: 1, rate: rate, packets: 5, bytes: 5 * size)
    /// The delay of the empty link.
    private static let way = Duration.milliseconds(30)

    /// The rate that a burst at 900 kbit/s measures: `arrival` gives each packet's arrival, by its sending time and its
    /// index.
    private func measure(_ arrival: (Instant, Int) -> Instant) -> Double? {
        var estimator = ProbeEstimator()
        estimator.began(Self.cluster)
        var fastest = Self.way.nanoseconds
        var measured: Double?
        for index in 0..<Self.cluster.packets {
            let sent = Instant.zero + Self.rate.time(for: Self.size) * index
            let at = arrival(sent, index)
            fastest = min(fastest, (at - sent).nanoseconds)
            let packet = PacketResult(
                sequence: Int64(index), sent: sent, size: Self.size, cluster: 1, arrival: at - .zero)
            if let (_, rate) = estimator.add(packet, fastest: fastest) { measured = rate }
        }
        return measured
    }

    @Test("A burst that arrived as it was sent measures its own rate")
    func full() throws {
        let measured = try #require(measure { sent, _ in sent + Self.way })
        #expect((850_000...901_000).contains(measured))
    }

    @Test("A link of 150 kbit/s is measured as one")
    func thin() throws {
        let measured = try #require(
            measure { _, index in .zero + Self.way + BitRate.kilobits(150).time(for: Self.size) * (index + 1) })
        #expect((135_000...151_000).contains(measured))
    }

    @Test(
        "A burst that a busy receiver read from its socket at once gives a lower bound of the link",
        arguments: [0, 5, 10])
    func clump(late: Int) throws {
        let last = Instant.zero + Self.rate.time(for: Self.size) * (Self.cluster.packets - 1)
        let measured = try #require(measure { _, _ in last + Self.way + .milliseconds(late) })
        #expect(measured > 500_000)
        #expect(measured < 901_000)
    }
}
