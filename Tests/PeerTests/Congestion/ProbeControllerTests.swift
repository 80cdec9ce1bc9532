import Basics
import Testing

@testable import Peer

@Suite("Probes after a link has become thin")
struct ProbeControllerTests {
    private func at(_ seconds: Double) -> Instant { .zero + .milliseconds(Int64(seconds * 1000)) }

    /// The bursts of half a minute after the estimate fell from 5 Mbit/s to 80 kbit/s, with their times in seconds.
    ///
    /// - Parameter measured: what a burst of that rate measures, in bit/s.
    private func bursts(measured: (Double) -> Double) -> [(at: Double, cluster: ProbeCluster)] {
        var controller = ProbeController(ceiling: 5_000_000)
        controller.start(rate: 300_000, at: at(0))
        _ = controller.take()
        var estimate = 80_000.0
        controller.dropped(from: 5_000_000, to: estimate, at: at(10))
        var bursts: [(Double, ProbeCluster)] = []
        for tick in 0..<300 {
            let now = 10 + Double(tick) / 10
            controller.advance(estimate: estimate, isFree: true, isUntested: false, to: at(now))
            while let cluster = controller.take() {
                bursts.append((now, cluster))
                let rate = measured(Double(cluster.rate.bitsPerSecond))
                estimate = max(estimate, rate)
                _ = controller.measured(rate, cluster: cluster.id, estimate: estimate, at: at(now))
            }
        }
        return bursts
    }

    @Test("where it stays thin none takes it for longer than an eighth of a second")
    func stays() {
        let bursts = bursts { min($0, 80_000) }
        #expect(bursts.count > 5)
        for (_, cluster) in bursts {
            #expect(BitRate.kilobits(80).time(for: cluster.bytes) <= .milliseconds(125), "\(cluster)")
        }
    }

    @Test("where it is as wide again that is found in a few steps")
    func returns() {
        let found = bursts { $0 }.first { $0.cluster.rate.bitsPerSecond >= 4_000_000 }
        #expect(found.map { $0.at < 14 } == true)
    }
}
