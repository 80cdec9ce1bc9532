import Basics
import Dispatch

/// Blocks the calling thread, which must be a dedicated one, until asynchronous work is done.
func waiting<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let outcome = Outcome<Value>()
    let done = DispatchSemaphore(value: 0)
    Task {
        do { outcome.set(.success(try await body())) } catch { outcome.set(.failure(error)) }
        done.signal()
    }
    done.wait()
    return try outcome.get()
}

private final class Outcome<Value: Sendable>: Sendable {
    private let result = Guarded<Result<Value, any Error>>(.failure(CancellationError()))

    func set(_ value: Result<Value, any Error>) { result.withLock { $0 = value } }
    func get() throws -> Value { try result.withLock { $0 }.get() }
}
