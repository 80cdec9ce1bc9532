import Basics
import RoomMedia
import Sockets
import Threads

/// The network loop with the peers on it, for those on other threads.
final class PeerLoop: Sendable {
    let loop: MediaLoop
    let host: PeerHost
    /// Closed before the loop stops: what is handed to it until then is run, so nobody waits for ever.
    private let isClosed = Guarded(false)

    /// The loop works for a tenth of a millisecond at a time, and everything waits for it. Beside busy encoders, and other programs, it
    /// waited for a processor 1.6 ms each time with 16 people on two of them, at worst so long that sound came late.
    private static let niceness: Int32 = -10

    /// Binds the ports. Nothing runs before `start`.
    init(_ configuration: ConferenceConfiguration, events: HostEvents, meters: StageMeters) throws(ConferenceError) {
        var sockets = MediaLoopConfiguration(udp: configuration.media.udp, tcp: configuration.media.tcp)
        sockets.connections = configuration.limits.mediaConnections
        sockets.connectionsPerAddress = configuration.limits.mediaConnectionsPerAddress
        do {
            loop = try MediaLoop(sockets)
        } catch {
            throw .configuration("\(error)")
        }
        host = PeerHost(loop: loop, events: events, meters: meters)
    }

    func start() { loop.start(niceness: Self.niceness, delegate: host) }

    func stop() {
        isClosed.withLock { $0 = true }
        loop.stop()
    }

    /// Runs `body` on the loop. Returns whether it will be run: not after the end.
    @discardableResult
    func run(_ body: @escaping @Sendable (PeerHost, Instant) -> Void) -> Bool {
        isClosed.withLock { isClosed in
            if isClosed { return false }
            loop.execute { [host] in body(host, MonotonicClock.now()) }
            return true
        }
    }

    /// Runs `body` on the loop and waits for what it gives.
    func result<Value: Sendable>(
        of body: @escaping @Sendable (PeerHost, Instant) -> Result<Value, ConferenceError>
    ) async throws(ConferenceError) -> Value {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, ConferenceError>, Never>) in
            let isTaken = run { host, now in continuation.resume(returning: body(host, now)) }
            if !isTaken { continuation.resume(returning: .failure(.draining)) }
        }
        return try result.get()
    }
}
