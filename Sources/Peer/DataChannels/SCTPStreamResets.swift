import Basics

/// Requests to reset streams, ours and the peer's (RFC 6525): how channels close.
struct SCTPStreamResets {
    /// The result of a request (RFC 6525 §4.4).
    enum Result {
        static let performed: UInt32 = 1
        static let denied: UInt32 = 2
        static let badSequenceNumber: UInt32 = 5
        static let inProgress: UInt32 = 6
    }

    private struct Request {
        var number: UInt32
        var streams: [UInt16]
        var lastTSN: UInt32
    }

    private var wanted: Set<UInt16> = []
    /// Our request that is not answered yet. Only one is outstanding at a time.
    private var request: Request?
    private var nextNumber: UInt32
    /// The number of the peer's next request, and our response to the one before.
    private var peerNumber: UInt32 = 0
    private var lastResult = Result.performed
    /// When our request is sent again.
    private(set) var deadline: Instant?

    /// - Parameter initialTSN: our own; requests are numbered from it on (§4.1).
    init(initialTSN: UInt32) {
        nextNumber = initialTSN
    }

    /// Takes the peer's initial TSN from its INIT or INIT ACK.
    mutating func adopt(initialTSN: UInt32) { peerNumber = initialTSN }

    /// Stops: the association has ended.
    mutating func stop() { deadline = nil }

    /// Whether a request of ours waits for its response.
    var isUnderWay: Bool { request != nil }

    // MARK: - Our requests

    /// Requests that a stream is reset once everything that was sent on it has arrived.
    mutating func request(_ stream: UInt16) {
        if wanted.count < SCTPConfiguration.mostNamedStreams { wanted.insert(stream) }
    }

    /// The streams that can be put in a request now.
    func ready(where isFinished: (UInt16) -> Bool) -> [UInt16] {
        request == nil && !wanted.isEmpty ? wanted.filter(isFinished).sorted() : []
    }

    /// Begins a request for `streams`; `lastTSN` is the newest that was sent.
    mutating func begin(_ streams: [UInt16], lastTSN: UInt32, timeout: Duration, at now: Instant) -> SCTPChunk? {
        wanted.subtract(streams)
        request = Request(number: nextNumber, streams: streams, lastTSN: lastTSN)
        nextNumber &+= 1
        return makeRequest(timeout: timeout, at: now)
    }

    /// The outstanding request, to be sent now; it is due again after `timeout`.
    mutating func makeRequest(timeout: Duration, at now: Instant) -> SCTPChunk? {
        guard let request else { return nil }
        deadline = now + timeout
        return .reconfig([
            .resetOutgoing(
                request: request.number, response: peerNumber &- 1, lastTSN: request.lastTSN, streams: request.streams)
        ])
    }

    /// Takes a response; nil if it does not answer the outstanding request, otherwise its effect.
    mutating func receiveResponse(to number: UInt32, _ result: UInt32) -> Response? {
        guard let request, request.number == number else { return nil }
        // The timer repeats the request.
        guard result != Result.inProgress else { return .inProgress }
        self.request = nil
        deadline = nil
        return .done(request.streams)
    }

    enum Response: Equatable {
        case inProgress
        /// These streams are reset, or never will be.
        case done([UInt16])
    }

    // MARK: - The peer's requests

    /// Whether this request of the peer is its next one, so that it is to be carried out.
    func isNext(_ number: UInt32) -> Bool { number == peerNumber }

    /// The response to the peer's next request, with its result.
    mutating func respond(to number: UInt32, _ result: UInt32) -> SCTPChunk {
        if result != Result.inProgress {
            peerNumber &+= 1
            lastResult = result
        }
        return .reconfig([.response(request: number, result: result)])
    }

    /// The response to any other request: the previous one again, since our response was lost, or a bad sequence
    /// number.
    func respondAgain(to number: UInt32) -> SCTPChunk {
        .reconfig([
            .response(request: number, result: number == peerNumber &- 1 ? lastResult : Result.badSequenceNumber)
        ])
    }
}
