import Peer
import Synchronization

/// What a peer's packets were refused for.
struct PeerFaults: Hashable, Sendable {
    var malformed = 0
    var dropped = 0
    var undecryptable = 0
    var replayed = 0
    var overBudget = 0
    var refusedSources = 0
    var ignoredChecks = 0
    var unanswered = 0

    init() {}

    init(_ statistics: PeerStatistics) {
        malformed = statistics.malformedPackets + statistics.srtp.malformed
        dropped = statistics.droppedDatagrams
        undecryptable = statistics.srtp.unauthenticated + statistics.srtp.otherFailures
        replayed = statistics.srtp.replayed
        overBudget = statistics.overBudgetDatagrams + statistics.skippedReports
        refusedSources = statistics.refusedSources
        ignoredChecks = statistics.ignoredChecks
        unanswered = statistics.unansweredDatagrams
    }
}

/// What all peers together did, those that are gone included. Written by the loop, read by the metrics.
final class HostCounters: Sendable {
    let bytesSent = Atomic<Int>(0)
    let bytesReceived = Atomic<Int>(0)
    let malformed = Atomic<Int>(0)
    let dropped = Atomic<Int>(0)
    let undecryptable = Atomic<Int>(0)
    let replayed = Atomic<Int>(0)
    /// Datagrams that were dropped unread since their peer was over its budget of the loop's time, or over that of its connection.
    let overBudget = Atomic<Int>(0)
    let refusedSources = Atomic<Int>(0)
    let ignoredChecks = Atomic<Int>(0)
    /// Datagrams that were not sent since their destination had not answered.
    let unanswered = Atomic<Int>(0)
    /// Peers that were ended for that.
    let endedOverBudget = Atomic<Int>(0)
    /// Data channel messages of those who may not talk.
    let refusedMessages = Atomic<Int>(0)
    /// Reliable data channels that were closed since their peer took messages too slowly.
    let closedChannels = Atomic<Int>(0)

    func add(_ new: PeerFaults, since old: PeerFaults) {
        malformed.wrappingAdd(new.malformed &- old.malformed, ordering: .relaxed)
        dropped.wrappingAdd(new.dropped &- old.dropped, ordering: .relaxed)
        undecryptable.wrappingAdd(new.undecryptable &- old.undecryptable, ordering: .relaxed)
        replayed.wrappingAdd(new.replayed &- old.replayed, ordering: .relaxed)
        overBudget.wrappingAdd(new.overBudget &- old.overBudget, ordering: .relaxed)
        refusedSources.wrappingAdd(new.refusedSources &- old.refusedSources, ordering: .relaxed)
        ignoredChecks.wrappingAdd(new.ignoredChecks &- old.ignoredChecks, ordering: .relaxed)
        unanswered.wrappingAdd(new.unanswered &- old.unanswered, ordering: .relaxed)
    }

    var samples: [MetricSample] {
        func sample(_ name: String, _ help: String, _ value: borrowing Atomic<Int>, _ labels: [String: String] = [:]) -> MetricSample {
            MetricSample(name, help, .counter, Double(value.load(ordering: .relaxed)), labels: labels)
        }
        let refused = "tessera_packets_refused_total"
        let help = "Packets of peers that were not taken, by reason."
        return [
            sample("tessera_network_bytes_total", "Bytes of datagrams.", bytesReceived, ["direction": "in"]),
            sample("tessera_network_bytes_total", "Bytes of datagrams.", bytesSent, ["direction": "out"]),
            sample(refused, help, malformed, ["reason": "malformed"]),
            sample(refused, help, dropped, ["reason": "unexpected"]),
            sample(refused, help, undecryptable, ["reason": "undecryptable"]),
            sample(refused, help, replayed, ["reason": "replayed"]),
            sample(refused, help, overBudget, ["reason": "over_budget"]),
            sample(refused, help, refusedSources, ["reason": "source"]),
            sample(refused, help, ignoredChecks, ["reason": "check"]),
            sample("tessera_peers_over_budget_total", "Peers that were ended for what they cost the loop.", endedOverBudget),
            sample("tessera_messages_refused_total", "Data channel messages of those who may not talk.", refusedMessages),
            sample("tessera_channels_closed_total", "Reliable data channels closed since the peer took messages too slowly.", closedChannels),
            sample("tessera_packets_unanswered_total", "Datagrams that were not sent since nobody answered there.", unanswered),
        ]
    }
}
