import Basics
import RoomMedia

extension PeerLoops {
    /// Runs `body` on a loop and waits for its result.
    func result<Value: Sendable>(
        on host: PeerLoop, of body: @escaping @Sendable (PeerLoop, Instant) -> Result<Value, ConferenceError>
    ) async throws(ConferenceError) -> Value {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Value, ConferenceError>, Never>) in
            let isTaken = run(on: host) { host, now in continuation.resume(returning: body(host, now)) }
            if !isTaken { continuation.resume(returning: .failure(.draining)) }
        }
        return try result.get()
    }
}
