import AsyncHTTPClient
import Basics
import FoundationEssentials
import NIOCore
import NIOHTTP1

/// The body of a watch in lines. What is not taken yet is bounded: a reader that is too slow loses the watch, and lists
/// again.
final class WatchLines: HTTPClientResponseDelegate {
    typealias Response = Void

    enum Fault: Error, Hashable { case lineTooLong, tooSlow, status(UInt) }

    /// More than a lease with a room's owner for each of fifty thousand rooms.
    static let lineBytes = 16 << 20
    static let waitingBytes = 32 << 20
    /// What a line that waits takes beside its bytes: there may be one for every two bytes.
    private static let lineCost = 64

    private struct State {
        var reader = WatchLineReader()
        var waiting = 0
    }

    let stream: AsyncThrowingStream<Data, any Error>
    private let continuation: AsyncThrowingStream<Data, any Error>.Continuation
    private let state = Guarded(State())

    init() { (stream, continuation) = AsyncThrowingStream.makeStream(of: Data.self) }

    /// Tells that a line of `count` bytes has been read.
    func taken(_ count: Int) { state.withLock { $0.waiting -= count + Self.lineCost } }

    func finish() { continuation.finish() }

    /// Adds a part of the body.
    func receive(_ part: some Sequence<UInt8>) throws(Fault) {
        let bytes = Data(part)
        try state.withLock { state throws(Fault) in
            for line in try state.reader.lines(completedBy: bytes) {
                state.waiting += line.count + Self.lineCost
                continuation.yield(line)
            }
            guard state.waiting <= Self.waitingBytes else { throw .tooSlow }
        }
    }

    // MARK: The client's loop

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        guard head.status != .ok, head.status.code >= 500 else { return task.eventLoop.makeSucceededVoidFuture() }
        // A member that lost its leader answers 503 with an error in JSON; the status says enough.
        continuation.finish(throwing: Fault.status(head.status.code))
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        do {
            try receive(buffer.readableBytesView)
            return task.eventLoop.makeSucceededVoidFuture()
        } catch {
            continuation.finish(throwing: error)
            return task.eventLoop.makeFailedFuture(error)
        }
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) { continuation.finish(throwing: error) }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        // A last line without its end: an error of the gateway.
        let rest = state.withLock { $0.reader.rest }
        if !rest.isEmpty { continuation.yield(rest) }
        continuation.finish()
    }
}

/// Cuts the parts of a body into lines. A value.
struct WatchLineReader {
    /// The begun line.
    private(set) var rest = Data()

    /// The lines that end in `part`, without the empty ones.
    mutating func lines(completedBy part: Data) throws(WatchLines.Fault) -> [Data] {
        var lines: [Data] = []
        for piece in part.split(separator: 10, omittingEmptySubsequences: false).enumerated() {
            if piece.offset > 0 {
                if !rest.isEmpty { lines.append(rest) }
                rest = Data()
            }
            rest += piece.element
            guard rest.count <= WatchLines.lineBytes else { throw .lineTooLong }
        }
        return lines
    }
}
