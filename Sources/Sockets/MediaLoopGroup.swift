public import Basics
import Glibc

/// Several loops behind the same ports: each has a UDP socket of its own on every address, and the system distributes
/// the senders among them by their addresses. The first loop accepts the TCP connections and passes them on
/// (`MediaLoop.move`).
public final class MediaLoopGroup: Sendable {
    /// At least one.
    public let loops: [MediaLoop]

    /// Binds all addresses, so that a port in use is reported before anything starts.
    ///
    /// - Parameter count: the number of loops; at least 1.
    public init(_ configuration: MediaLoopConfiguration, loops count: Int) throws(NetworkError) {
        let count = max(1, count)
        let first = try MediaLoop(configuration, member: 0, of: count, home: nil)
        var loops = [first]
        // Where port 0 was configured, all loops share the port that the first one got.
        let others = MediaLoopConfiguration(udp: first.boundUDP)
        for number in 1..<count {
            loops.append(try MediaLoop(others, member: number, of: count, home: first.inbox))
        }
        self.loops = loops
    }

    public var boundUDP: [SocketAddress] { loops[0].boundUDP }
    public var boundTCP: [SocketAddress] { loops[0].boundTCP }

    /// The counts of the sockets of all loops.
    public var statistics: MediaLoopStatistics {
        loops.dropFirst().reduce(into: loops[0].statistics) { $0.add($1.statistics) }
    }

    /// Ends all threads when the queued datagrams were sent.
    public func stop() {
        for loop in loops { loop.stop() }
    }
}
