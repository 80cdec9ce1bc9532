import Basics

/// How fast the newest packets arrived. While a queue stands that is what the link carries, however little was sent on
/// average: after a keyframe's burst in a quiet stream the acknowledged rate would be several times too low.
struct BusyRate: Sendable {
    /// Fewer packets, or a shorter time, are no measure: radio links deliver in bursts.
    static let leastPackets = 8
    static let leastTime: Duration = .milliseconds(30)
    /// Packets that arrived longer ago do not belong to this queue.
    static let mostTime: Duration = .milliseconds(500)

    private var packets: [(arrival: Duration, size: Int)] = []

    mutating func add(size: Int, arrival: Duration) {
        if packets.count == 64 { packets.removeFirst(32) }
        packets.append((arrival, size))
    }

    /// bit/s over the busiest of the stretches that end at the newest packet: the longer ones begin before the queue
    /// did. nil without enough packets.
    var rate: Double? {
        guard let newest = packets.last else { return nil }
        var bytes = 0
        var best: Double?
        for (count, packet) in packets.reversed().enumerated() {
            let span = newest.arrival - packet.arrival
            if span > Self.mostTime { break }
            if count >= Self.leastPackets, span >= Self.leastTime {
                best = max(best ?? 0, Double(bytes) * 8 / span.inSeconds)
            }
            bytes += packet.size
        }
        return best
    }

    mutating func reset() { packets.removeAll(keepingCapacity: true) }
}
