import Basics
import Glibc

/// Several loops behind the same ports: each has a UDP socket of its own on every address, among which the system
/// spreads the senders by their addresses; TCP connections come to the first loop, which hands them on
/// (`MediaLoop.move`).
public final class MediaLoopGroup: Sendable {
    /// At least one.
    public let loops: [MediaLoop]

    /// Binds everything at once, so that a taken port is known before anything starts.
    ///
    /// - Parameter count: how many loops; at least 1.
    public init(_ configuration: MediaLoopConfiguration, loops count: Int) throws(NetworkError) {
        let count = max(1, count)
        let first = try MediaLoop(configuration, member: 0, of: count, home: nil)
        var loops = [first]
        // Port 0 is a port by now, the same one for all.
        let others = MediaLoopConfiguration(udp: first.boundUDP)
        for number in 1..<count {
            loops.append(try MediaLoop(others, member: number, of: count, home: first.inbox))
        }
        self.loops = loops
    }

    public var boundUDP: [SocketAddress] { loops[0].boundUDP }
    public var boundTCP: [SocketAddress] { loops[0].boundTCP }

    /// What the sockets of all loops counted.
    public var statistics: MediaLoopStatistics {
        loops.dropFirst().reduce(into: loops[0].statistics) { $0.add($1.statistics) }
    }

    /// Ends all threads after what is queued was sent.
    public func stop() {
        for loop in loops { loop.stop() }
    }
}
