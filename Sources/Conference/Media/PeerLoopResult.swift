import Basics
import RoomMedia

extension PeerLoops {
    /// Runs `body` on a loop and waits for its result.
    func result<Value: Sendable>(
        on host: PeerLoop, of body: @escaping @Sendable (PeerLoop, Instant) -> Result<Value, ConferenceError>
    ) async throws(ConferenceError) -> Value {
        // Handed over with a lock: a continuation that is resumed before its task waits orders nothing that the thread
        // sanitizer sees (scripts/sanitizers/thread).
        let result = Guarded<Result<Value, ConferenceError>?>(nil)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isTaken = run(on: host) { host, now in
                let value = body(host, now)
                result.withLock { $0 = value }
                continuation.resume()
            }
            if !isTaken { continuation.resume() }
        }
        guard let result = result.withLock({ $0 }) else { throw .draining }
        return try result.get()
    }
}
