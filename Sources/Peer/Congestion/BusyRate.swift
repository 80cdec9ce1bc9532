import Basics

/// How fast the newest packets arrived. While a queue stands that is what the line carries, however little was sent on
/// average: after a keyframe's burst in a quiet stream the acknowledged rate would understate the line several times.
struct BusyRate: Sendable {
    /// Fewer packets, or in less time, are no measure: radio links deliver in clumps.
    static let leastPackets = 8
    static let leastTime: Duration = .milliseconds(30)
    /// What arrived longer ago does not belong to this queue.
    static let mostTime: Duration = .milliseconds(500)

    private var packets: [(arrival: Duration, size: Int)] = []

    mutating func add(size: Int, arrival: Duration) {
        if packets.count == 64 { packets.removeFirst(32) }
        packets.append((arrival, size))
    }

    /// bit/s, over whichever of the newest stretches was the busiest: the longer ones begin before the queue did. nil
    /// without enough packets.
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
