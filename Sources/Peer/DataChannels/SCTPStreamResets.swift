import Basics

/// Requests to start streams anew, ours and the peer's (RFC 6525): how channels close.
struct SCTPStreamResets {
    /// What a response says (RFC 6525 §4.4).
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
    /// Ours that is not answered yet. One is under way at a time.
    private var request: Request?
    private var nextNumber: UInt32
    /// The number of the peer's next request, and our response to the one before.
    private var peerNumber: UInt32 = 0
    private var lastResult = Result.performed
    /// When our request is sent again.
    private(set) var deadline: Instant?

    /// - Parameter initialTSN: ours; requests are numbered from it on (§4.1).
    init(initialTSN: UInt32) {
        nextNumber = initialTSN
    }

    /// The peer's INIT or INIT ACK named its first TSN.
    mutating func adopt(initialTSN: UInt32) { peerNumber = initialTSN }

    /// The association is over.
    mutating func stop() { deadline = nil }

    /// A request of ours waits for its response.
    var isUnderWay: Bool { request != nil }

    // MARK: - Ours

    /// Notes that a stream is to start anew once everything that was sent on it has arrived.
    mutating func want(_ stream: UInt16) {
        if wanted.count < SCTPConfiguration.mostNamedStreams { wanted.insert(stream) }
    }

    /// The streams that are wanted and may be in a request now.
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

    /// The request that is under way, to be sent now; it is due again after `timeout`.
    mutating func makeRequest(timeout: Duration, at now: Instant) -> SCTPChunk? {
        guard let request else { return nil }
        deadline = now + timeout
        return .reconfig([
            .resetOutgoing(
                request: request.number, response: peerNumber &- 1, lastTSN: request.lastTSN, streams: request.streams)
        ])
    }

    /// Takes a response; nil when it is not about the request that is under way, else what follows from it.
    mutating func receiveResponse(to number: UInt32, _ result: UInt32) -> Response? {
        guard let request, request.number == number else { return nil }
        // Asked again when the timer says so.
        guard result != Result.inProgress else { return .inProgress }
        self.request = nil
        deadline = nil
        return .done(request.streams)
    }

    enum Response: Equatable {
        case inProgress
        /// These streams start anew, or never will.
        case done([UInt16])
    }

    // MARK: - The peer's

    /// Whether this request of the peer's is its next one, so that it is to be carried out.
    func isNext(_ number: UInt32) -> Bool { number == peerNumber }

    /// The response to the peer's next request, with what came of it.
    mutating func respond(to number: UInt32, _ result: UInt32) -> SCTPChunk {
        if result != Result.inProgress {
            peerNumber &+= 1
            lastResult = result
        }
        return .reconfig([.response(request: number, result: result)])
    }

    /// The response to any other request: the one before again, since our response was lost, or a bad sequence number.
    func respondAgain(to number: UInt32) -> SCTPChunk {
        .reconfig([
            .response(request: number, result: number == peerNumber &- 1 ? lastResult : Result.badSequenceNumber)
        ])
    }
}
