import Basics
import Synchronization

/// Counts of all peers of a loop together, including past ones. Written by the loop, read by the metrics.
package final class HostCounters: Sendable {
    let bytesSent = Atomic<Int>(0)
    let bytesReceived = Atomic<Int>(0)
    /// Peers that were ended because they exceeded their budget.
    let endedOverBudget = Atomic<Int>(0)
    /// Data channel messages of participants who may not send any.
    let refusedMessages = Atomic<Int>(0)
    private let faults = Guarded(PeerFaults())
    /// Reliable data channels that were closed because their peer took messages too slowly.
    let closedChannels = Atomic<Int>(0)
    /// Datagrams that this loop read for peers of other loops, and those from other loops that exceeded its limit.
    let handedOver = Atomic<Int>(0)
    let droppedInHandover = Atomic<Int>(0)

    func add(_ new: PeerFaults, since old: PeerFaults) {
        if new != old { faults.withLock { $0.add(new, since: old) } }
    }

    /// The metrics of several loops together.
    static func samples(of all: [HostCounters]) -> [MetricSample] {
        func sample(
            _ name: String, _ help: String, _ labels: [String: String] = [:], _ counter: (HostCounters) -> Int
        ) -> MetricSample {
            MetricSample(name, help, .counter, Double(all.reduce(0) { $0 + counter($1) }), labels: labels)
        }
        let bytes = "Bytes of datagrams."
        let faults = all.reduce(into: PeerFaults()) { sum, counters in
            sum.add(counters.faults.withLock { $0 }, since: PeerFaults())
        }
        return [
            sample("tessera_network_bytes_total", bytes, ["direction": "in"]) {
                $0.bytesReceived.load(ordering: .relaxed)
            },
            sample("tessera_network_bytes_total", bytes, ["direction": "out"]) {
                $0.bytesSent.load(ordering: .relaxed)
            },
            sample(
                "tessera_datagrams_handed_over_total",
                "Datagrams that a loop read for the peers of another loop."
            ) {
                $0.handedOver.load(ordering: .relaxed)
            },
            sample("tessera_datagrams_handover_dropped_total", "Datagrams handed to a loop where too many waited.") {
                $0.droppedInHandover.load(ordering: .relaxed)
            },
            sample(
                "tessera_peers_over_budget_total",
                "Peers that were ended because they exceeded their share of the loop's time."
            ) {
                $0.endedOverBudget.load(ordering: .relaxed)
            },
            sample("tessera_messages_refused_total", "Data channel messages of participants who may not send any.") {
                $0.refusedMessages.load(ordering: .relaxed)
            },
            sample(
                "tessera_channels_closed_total",
                "Reliable data channels closed because the peer took messages too slowly."
            ) {
                $0.closedChannels.load(ordering: .relaxed)
            },
        ] + faults.samples
    }
}
