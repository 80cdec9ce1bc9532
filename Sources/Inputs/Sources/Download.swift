import AsyncHTTPClient
import Basics
import Codecs
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import Threads

/// One answer of an HTTP server on its way: the client's loop fills it, the input's thread empties it. What is not taken
/// yet is bounded: the loop stops reading above `limit`.
final class Download: HTTPClientResponseDelegate {
    typealias Response = Void

    private static let limit = 1 << 20

    private struct State {
        var head: HTTPResponseHead?
        var parts: [ByteBuffer] = []
        var bytes = 0
        var isDone = false
        var failure: String?
        /// Lets the loop go on.
        var resume: EventLoopPromise<Void>?
    }

    private let state = Condition(State())

    // MARK: - The client's loop

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        state.withLock(waking: .all) { $0.head = head }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let wait = state.withLock(waking: .all) { state -> EventLoopPromise<Void>? in
            state.parts.append(buffer)
            state.bytes += buffer.readableBytes
            if state.bytes >= Self.limit, !state.isDone {
                state.resume = task.eventLoop.makePromise(of: Void.self)
            }
            return state.resume
        }
        return wait?.futureResult ?? task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) { end(Self.text(of: error)) }
    func didFinishRequest(task: HTTPClient.Task<Void>) throws { end(nil) }

    private func end(_ failure: String?) {
        let resume = state.withLock(waking: .all) { state in
            state.isDone = true
            state.failure = state.failure ?? failure
            defer { state.resume = nil }
            return state.resume
        }
        resume?.succeed(())
    }

    private static func text(of error: any Error) -> String {
        switch error {
        case let error as HTTPClientError where error == .connectTimeout: "the server does not answer"
        case let error as HTTPClientError where error == .readTimeout: "the server sends nothing"
        case let error as NIOConnectionError:
            "the server cannot be reached" + (error.connectionErrors.first.map { ": " + reason(of: $0.error) } ?? "")
        case let error as IOError: "the server cannot be reached: " + reason(of: error)
        default: "the transfer failed: \(error)"
        }
    }

    /// The system's words alone: the library's are for its developers.
    private static func reason(of error: any Error) -> String {
        guard let code = (error as? IOError)?.errnoCode else { return "\(error)" }
        return String(cString: strerror(code))
    }

    // MARK: - The input's thread

    /// Waits for the answer's head.
    func head(_ interrupt: ReadInterrupt) throws -> HTTPResponseHead {
        try wait(interrupt) { state in state.head }
    }

    /// Takes up to `buffer.count` bytes; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, _ interrupt: ReadInterrupt) throws -> Int {
        let (count, resume) = try wait(interrupt) { state -> (Int, EventLoopPromise<Void>?)? in
            while let first = state.parts.first, first.readableBytes == 0 { state.parts.removeFirst() }
            guard !state.parts.isEmpty else { return state.isDone && state.failure == nil ? (0, nil) : nil }
            let count = min(buffer.count, state.parts[0].readableBytes)
            state.parts[0].readWithUnsafeReadableBytes { bytes in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                return count
            }
            state.bytes -= count
            guard state.bytes < Self.limit / 2 else { return (count, nil) }
            defer { state.resume = nil }
            return (count, state.resume)
        }
        resume?.succeed(())
        return count
    }

    /// Waits until `body` has a result, the transfer fails, or the interrupt ends it.
    private func wait<Result>(_ interrupt: ReadInterrupt, _ body: (inout State) -> Result?) throws -> Result {
        while true {
            let outcome = state.wait(until: MonotonicClock.now() + .milliseconds(100)) {
                state -> Swift.Result<Result, DemuxError>? in
                if let result = body(&state) { return .success(result) }
                return state.failure.map { .failure(.failed($0)) }
            }
            if let outcome { return try outcome.get() }
            if interrupt.isCancelled { throw DemuxError.cancelled }
            if interrupt.mustStop { throw DemuxError.timedOut }
        }
    }
}
