import Basics

/// The DATA chunks that were sent and are not cumulatively acknowledged, in the order of their TSNs, which are
/// consecutive.
struct SCTPOutstandingChunks {
    struct Chunk {
        enum State { case inFlight, waiting, acknowledged, abandoned }

        let data: SCTPData
        /// All chunks of one message have the same number.
        let message: UInt64
        let reliability: SCTPReliability
        let expires: Instant?
        fileprivate(set) var transmissions = 1
        /// How many reports acknowledged newer chunks since it was sent.
        fileprivate(set) var missed = 0
        /// `waiting`: lost, and to be retransmitted.
        fileprivate(set) var state = State.inFlight

        init(data: SCTPData, message: UInt64, reliability: SCTPReliability, expires: Instant?) {
            self.data = data
            self.message = message
            self.reliability = reliability
            self.expires = expires
        }
    }

    private var chunks = Queue<Chunk>()
    /// Payload bytes in flight.
    private(set) var flight = 0
    /// Chunks that wait for retransmission.
    private(set) var waiting = 0
    /// No chunk before this TSN waits.
    private var firstWaiting: UInt32 = 0

    var isEmpty: Bool { chunks.isEmpty }
    var count: Int { chunks.count }
    var indices: Range<Int> { 0..<chunks.count }
    var first: Chunk? { chunks.first }
    subscript(_ index: Int) -> Chunk { chunks[index] }

    /// Appends a chunk that is sent now.
    mutating func append(_ chunk: Chunk) {
        flight += chunk.data.payload.count
        chunks.append(chunk)
    }

    mutating func removeFirst() {
        guard !chunks.isEmpty else { return }
        mark(0, .acknowledged)
        _ = chunks.popFirst()
    }

    mutating func removeAll() {
        chunks.removeAll()
        (flight, waiting) = (0, 0)
    }

    /// Changes the state of a chunk; false if it has that state already or was abandoned.
    @discardableResult
    mutating func mark(_ index: Int, _ state: Chunk.State) -> Bool {
        let (old, size, tsn) = (chunks[index].state, chunks[index].data.payload.count, chunks[index].data.tsn)
        guard old != state, old != .abandoned else { return false }
        if old == .inFlight { flight -= size }
        if old == .waiting { waiting -= 1 }
        switch state {
        case .inFlight: flight += size
        case .waiting:
            if waiting == 0 || serialLess(tsn, firstWaiting) { firstWaiting = tsn }
            waiting += 1
        case .abandoned, .acknowledged: break
        }
        chunks[index].state = state
        return true
    }

    /// Counts one more report that acknowledges newer chunks, and returns the count.
    mutating func countMissing(_ index: Int) -> Int {
        chunks[index].missed += 1
        return chunks[index].missed
    }

    /// Puts the first waiting chunk back in flight; nil if none waits or the window has no room for it.
    mutating func resendFirstWaiting(within window: Int) -> SCTPData? {
        guard waiting > 0, flight == 0 || flight < window, let first = chunks.first else { return nil }
        var index = Int(max(0, Int32(bitPattern: firstWaiting &- first.data.tsn)))
        while index < chunks.count, chunks[index].state != .waiting { index += 1 }
        guard index < chunks.count else { return nil }
        let data = chunks[index].data
        firstWaiting = data.tsn
        // One packet may always be sent: it probes a closed window (RFC 9260 §6.1 A).
        guard flight == 0 || flight + data.payload.count <= window else { return nil }
        mark(index, .inFlight)
        chunks[index].transmissions += 1
        chunks[index].missed = 0
        return data
    }
}
