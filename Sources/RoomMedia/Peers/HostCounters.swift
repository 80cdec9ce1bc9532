import Basics
import Synchronization

/// What all peers together did, those that are gone included. Written by the loop, read by the metrics.
package final class HostCounters: Sendable {
    let bytesSent = Atomic<Int>(0)
    let bytesReceived = Atomic<Int>(0)
    /// Peers that were ended for what they cost.
    let endedOverBudget = Atomic<Int>(0)
    /// Data channel messages of those who may not talk.
    let refusedMessages = Atomic<Int>(0)
    private let faults = Guarded(PeerFaults())
    /// Reliable data channels that were closed since their peer took messages too slowly.
    let closedChannels = Atomic<Int>(0)

    func add(_ new: PeerFaults, since old: PeerFaults) {
        if new != old { faults.withLock { $0.add(new, since: old) } }
    }

    package var samples: [MetricSample] {
        func sample(_ name: String, _ help: String, _ value: borrowing Atomic<Int>, _ labels: [String: String] = [:]) -> MetricSample {
            MetricSample(name, help, .counter, Double(value.load(ordering: .relaxed)), labels: labels)
        }
        return [
            sample("tessera_network_bytes_total", "Bytes of datagrams.", bytesReceived, ["direction": "in"]),
            sample("tessera_network_bytes_total", "Bytes of datagrams.", bytesSent, ["direction": "out"]),
            sample("tessera_peers_over_budget_total", "Peers that were ended for what they cost the loop.", endedOverBudget),
            sample("tessera_messages_refused_total", "Data channel messages of those who may not talk.", refusedMessages),
            sample("tessera_channels_closed_total", "Reliable data channels closed since the peer took messages too slowly.", closedChannels),
        ] + faults.withLock { $0 }.samples
    }
}
