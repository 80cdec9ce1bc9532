import Basics

/// Reads a line's rate from how a burst of probe packets arrived.
///
/// libwebrtc `probe_bitrate_estimator.cc`.
struct ProbeEstimator: Sendable {
    /// Of the packets and the bytes of a cluster, how much must have arrived.
    static let leastPart = 0.8
    static let longestInterval: Duration = .seconds(1)
    /// Arriving this much faster than sent is a measuring error.
    static let largestRatio = 2.0
    /// Arriving slower than this part of the sending rate means that the line was full …
    static let saturated = 0.9
    /// … and that a little less is safe.
    static let safety = 0.95

    private struct Cluster {
        var info: ProbeCluster
        var packets = 0
        var bytes = 0
        var firstSent = Instant.distantFuture
        var lastSent = Instant.distantPast
        var firstArrival = Duration.seconds(Int64.max / 2_000_000_000)
        var lastArrival = Duration.seconds(-1_000_000)
        var sizeOfLastSent = 0
        var sizeOfFirstArrived = 0
    }
    private var clusters: [Int: Cluster] = [:]
    /// Sound that left between two packets of this cluster took its time on the line too.
    private var between: (cluster: Int, bytes: Int)?

    mutating func began(_ cluster: ProbeCluster) {
        clusters[cluster.id] = Cluster(info: cluster)
        clusters = clusters.filter { $0.key > cluster.id - 8 }
    }

    /// bit/s once enough of the packet's cluster arrived.
    mutating func add(_ packet: PacketResult) -> Double? {
        guard let id = packet.cluster else {
            if packet.arrival != nil { between?.bytes += packet.size }
            return nil
        }
        guard let arrival = packet.arrival, var cluster = clusters[id] else { return nil }
        if let between, between.cluster == id { cluster.bytes += between.bytes }
        between = (id, 0)
        if arrival < cluster.firstArrival {
            cluster.firstArrival = arrival
            cluster.sizeOfFirstArrived = packet.size
        }
        cluster.lastArrival = max(cluster.lastArrival, arrival)
        cluster.firstSent = min(cluster.firstSent, packet.sent)
        if packet.sent >= cluster.lastSent {
            cluster.lastSent = packet.sent
            cluster.sizeOfLastSent = packet.size
        }
        cluster.packets += 1
        cluster.bytes += packet.size
        clusters[id] = cluster
        guard Double(cluster.packets) >= Self.leastPart * Double(cluster.info.packets),
            Double(cluster.bytes) >= Self.leastPart * Double(cluster.info.bytes)
        else { return nil }
        let sendTime = cluster.lastSent - cluster.firstSent
        let arrivalTime = cluster.lastArrival - cluster.firstArrival
        guard sendTime > .zero, sendTime <= Self.longestInterval, arrivalTime > .zero, arrivalTime <= Self.longestInterval else {
            return nil
        }
        let sendRate = Double(cluster.bytes - cluster.sizeOfLastSent) * 8 / sendTime.inSeconds
        let arrivalRate = Double(cluster.bytes - cluster.sizeOfFirstArrived) * 8 / arrivalTime.inSeconds
        guard arrivalRate <= Self.largestRatio * sendRate else { return nil }
        return arrivalRate < Self.saturated * sendRate ? Self.safety * arrivalRate : min(sendRate, arrivalRate)
    }
}
