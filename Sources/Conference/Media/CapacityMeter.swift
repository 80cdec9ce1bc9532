import Basics
import RoomMedia
import Threads

/// The processor time of what a server's capacity depends on, since its start.
struct MediaWork: Sendable {
    /// Of the threads that decode, compose and encode.
    var pool: Duration
    /// How many of them can run at once.
    var threads: Int
    /// Of each network loop.
    var loops: [Duration]
}

/// How much of the server's capacity is used: the larger of the shares of the encoder threads and of the busiest network
/// loop, over the last seconds. A value.
struct CapacityMeter: Sendable {
    /// The readings that the share is of, one a second.
    static let window = 5

    private var readings: [(work: MediaWork, at: Instant)] = []
    /// From 0 to 1.
    private(set) var used = 0.0

    mutating func take(_ work: MediaWork, at now: Instant) {
        readings.append((work, now))
        readings.removeFirst(max(0, readings.count - Self.window - 1))
        guard let first = readings.first, now > first.at else { return }
        let time = (now - first.at).inSeconds
        let pool = (work.pool - first.work.pool).inSeconds / time / Double(max(1, work.threads))
        let loop = zip(work.loops, first.work.loops).map { ($0 - $1).inSeconds / time }.max() ?? 0
        used = min(1, max(0, pool, loop))
    }
}

extension MediaThreads {
    var work: MediaWork {
        let seconds = [meters.decode, meters.compose, meters.encode, meters.snapshot].reduce(0) { $0 + $1.seconds }
        return MediaWork(
            pool: .seconds(seconds), threads: min(pool.threads, Processors.available),
            loops: peers.hosts.map(\.turns.spent))
    }
}
