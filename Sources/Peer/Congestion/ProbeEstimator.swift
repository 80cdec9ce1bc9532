import Basics

/// Measures a link's rate from the arrival times of a burst of probe packets.
///
/// The bounds are those of libwebrtc's `probe_bitrate_estimator.cc`. The rate is the slope of a line through all
/// arrivals instead of the time between the first and the last: jitter as long as the burst would halve the latter. A
/// busy receiver reads the whole burst from its socket at once, which leaves no slope: then the time that the burst
/// took beyond the fastest packet's gives a lower bound of the link's rate.
struct ProbeEstimator: Sendable {
    /// The part of a cluster's packets and bytes that must have arrived.
    static let leastPart = 0.8
    /// The same for the first probe, which may fill the queue of a thin link: the packets that arrive show the link's
    /// rate all the same.
    static let leastPartOfFirst = 0.6
    static let longestInterval: Duration = .seconds(1)
    /// A higher ratio of arrival rate to sending rate is a measuring error.
    static let largestRatio = 2.0
    /// An arrival rate below this part of the sending rate means that the link was full …
    static let saturated = 0.9
    /// … and that a slightly lower rate is safe.
    static let safety = 0.95

    private struct Cluster {
        var info: ProbeCluster
        var packets = 0
        var bytes = 0
        /// In the order of reports, which is the sending order except for late reports; includes the packets sent
        /// between those of the cluster.
        var arrived: [PacketResult] = []
    }
    private var clusters: [Int: Cluster] = [:]
    /// Audio packets that left between two packets of this cluster took time on the link too.
    private var between: (cluster: Int, packets: [PacketResult])?

    mutating func began(_ cluster: ProbeCluster) {
        clusters[cluster.id] = Cluster(info: cluster)
        clusters = clusters.filter { $0.key > cluster.id - 8 }
    }

    /// Takes a packet's result; returns bit/s once enough of its cluster arrived.
    ///
    /// - Parameters:
    ///   - fastest: arrival minus sending time of the fastest packet of late, in nanoseconds.
    ///   - ownLoss: the part that the link loses at any rate, and of any cluster.
    mutating func add(_ packet: PacketResult, fastest: Int64?, ownLoss: Double = 0) -> (cluster: Int, rate: Double)? {
        guard packet.arrival != nil else { return nil }
        guard let id = packet.cluster else {
            if between.map({ $0.packets.count < 32 }) ?? false { between?.packets.append(packet) }
            return nil
        }
        guard var cluster = clusters[id] else { return nil }
        if let between, between.cluster == id {
            cluster.arrived += between.packets
            cluster.bytes += between.packets.reduce(0) { $0 + $1.size }
        }
        between = (id, [])
        cluster.arrived.append(packet)
        cluster.packets += 1
        cluster.bytes += packet.size
        clusters[id] = cluster
        let leastPart = (id == 1 ? Self.leastPartOfFirst : Self.leastPart) * (1 - ownLoss)
        guard Double(cluster.packets) >= leastPart * Double(cluster.info.packets),
            Double(cluster.bytes) >= leastPart * Double(cluster.info.bytes)
        else { return nil }
        let inOrder = cluster.arrived.sorted { $0.sequence < $1.sequence }
        let measures = [Self.rate(of: inOrder), fastest.flatMap { Self.leastRate(of: inOrder, fastest: $0) }]
        return measures.compactMap(\.self).max().map { (id, $0) }
    }

    /// A lower bound in bit/s: what had arrived at a moment passed the link since the burst began, minus the delay of
    /// the path. The highest bound counts, of the moments when enough had arrived. Packets are in sending order.
    private static func leastRate(of packets: [PacketResult], fastest: Int64) -> Double? {
        guard let first = packets.first else { return nil }
        let all = packets.reduce(0) { $0 + $1.size }
        // The first packet's own time on the link is part of the fastest packet's time.
        var bytes = -first.size
        var best: Double?
        for packet in packets.sorted(by: { ($0.arrival ?? .zero) < ($1.arrival ?? .zero) }) {
            guard let arrival = packet.arrival else { continue }
            bytes += packet.size
            guard Double(bytes + first.size) >= leastPart * Double(all) else { continue }
            let time = Duration.nanoseconds(arrival.nanoseconds &- first.sent.nanoseconds &- fastest)
            guard time > .zero, time <= longestInterval else { continue }
            best = max(best ?? 0, Double(bytes) * 8 / time.inSeconds)
        }
        return best.map { $0 * safety }
    }

    /// bit/s; packets in sending order.
    private static func rate(of packets: [PacketResult]) -> Double? {
        guard let first = packets.first, let last = packets.last, let start = first.arrival else { return nil }
        let sendTime = last.sent - first.sent
        guard sendTime > .zero, sendTime <= longestInterval else { return nil }
        var points: [(x: Double, y: Double)] = []
        var bytes = 0
        for packet in packets {
            guard let arrival = packet.arrival, arrival - start <= longestInterval else { return nil }
            bytes += packet.size
            points.append((Double(bytes) * 8, (arrival - start).inSeconds))
        }
        let sendRate = Double(bytes - last.size) * 8 / sendTime.inSeconds
        // The regression gives seconds per bit; the rate is its inverse.
        let line = Regression(points)
        guard line.variance > 0, line.covariance > 0 else { return nil }
        let arrivalRate = line.variance / line.covariance
        guard arrivalRate <= largestRatio * sendRate else { return nil }
        return arrivalRate < saturated * sendRate ? safety * arrivalRate : min(sendRate, arrivalRate)
    }
}
