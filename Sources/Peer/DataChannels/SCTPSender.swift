import Basics

/// DATA that one association sends: fragmentation, acknowledgement, retransmission and abandonment (RFC 9260 §6, RFC
/// 3758).
///
/// Not copyable: its queues are large.
struct SCTPSender: ~Copyable {
    /// The effect of a SACK.
    enum Acknowledgement {
        /// It is older than an earlier one, or acknowledges what was never sent.
        case stale
        case nothingNew
        /// The peer accepts what is sent, or keeps its window closed and answers the probes (RFC 9260 §6.1 A).
        case alive
    }

    private struct Message {
        var id: UInt64
        var stream: UInt16
        var ppid: UInt32
        var payload: [UInt8]
        var offset = 0
        var ssn: UInt16 = 0
        var reliability: SCTPReliability
        var expires: Instant?
    }

    /// The shortest interval between two searches for expired messages: each visits all that is held.
    private static let expiryInterval = Duration.milliseconds(10)

    private let packetSize: Int
    private let capacity: Int
    private var peerForwards = false
    private(set) var peerWindow = 0
    private var pending = Queue<Message>()
    /// The chunks from the one after `acknowledgedTSN` to the one before `nextTSN`.
    private var outstanding = SCTPOutstandingChunks()
    private var congestion: SCTPCongestionWindow
    private var roundTrip = SCTPRoundTrip()
    private var nextTSN: UInt32
    private var acknowledgedTSN: UInt32
    private var forwardedTSN: UInt32
    private var nextMessage: UInt64 = 0
    private var nextSSN: [UInt16: UInt16] = [:]
    /// Messages and chunks of each stream that have not arrived yet.
    private var unfinished: [UInt16: Int] = [:]
    /// Bytes that wait to be sent or acknowledged, with the overhead of each message.
    private(set) var buffered = 0
    /// When the chunks in flight count as lost.
    private var timeout: Instant?
    /// When to search for expired messages, and when that was done last.
    private var expiry: Instant?
    private var lastExpiry = Instant.distantPast
    /// Something was abandoned or acknowledged since the last decision about FORWARD-TSN.
    private var mayForward = false

    init(_ configuration: SCTPConfiguration, initialTSN: UInt32) {
        packetSize = configuration.packetSize
        capacity = configuration.sendBuffer
        congestion = SCTPCongestionWindow(packetSize: configuration.packetSize, limit: configuration.sendBuffer)
        nextTSN = initialTSN
        acknowledgedTSN = initialTSN &- 1
        forwardedTSN = initialTSN &- 1
    }

    /// The payload bytes of one DATA chunk.
    private var fragmentSize: Int { (packetSize - 28) & ~3 }
    /// The TSN of the newest chunk that was sent.
    var lastTSN: UInt32 { nextTSN &- 1 }
    var retransmissionTimeout: Duration { roundTrip.timeout }
    /// Messages that were not sent completely.
    var pendingMessages: Int { pending.count }
    /// Chunks that were sent and are not cumulatively acknowledged.
    var outstandingChunks: Int { outstanding.count }
    /// When `isTimedOut` or `giveUpExpired` has something to do.
    var nextDeadline: Instant? {
        guard let timeout, let expiry else { return timeout ?? expiry }
        return min(timeout, expiry)
    }

    /// The bytes that a message takes in the send buffer.
    private static func cost(_ bytes: Int) -> Int { bytes + SCTPReassembly.bookkeeping }

    // MARK: - Settings

    /// Takes the window and the extensions of the peer's INIT or INIT ACK.
    mutating func adopt(window: Int, forwards: Bool) {
        peerWindow = window
        peerForwards = forwards
    }

    /// Starts when the association is established.
    mutating func start() { congestion.start(peerWindow: peerWindow) }

    /// Drops everything: the association has ended.
    mutating func removeAll() {
        pending.removeAll()
        outstanding.removeAll()
        unfinished = [:]
        buffered = 0
        (timeout, expiry) = (nil, nil)
    }

    // MARK: - Messages

    /// Queues a message; false if the buffer is full.
    mutating func enqueue(
        _ payload: [UInt8], ppid: UInt32, stream: UInt16, _ reliability: SCTPReliability, at now: Instant
    ) -> Bool {
        guard buffered + Self.cost(payload.count) <= capacity else { return false }
        buffered += Self.cost(payload.count)
        let expires = reliability.lifetime.map { now + $0 }
        pending.append(
            Message(
                id: nextMessage, stream: stream, ppid: ppid, payload: payload, reliability: reliability,
                expires: expires))
        nextMessage += 1
        unfinished[stream, default: 0] += 1
        if let expires { lookForExpired(at: expires) }
        return true
    }

    /// Whether all messages of the stream have arrived or were abandoned.
    func isFinished(_ stream: UInt16) -> Bool { unfinished[stream] == nil }

    /// Resets the stream sequence numbers (RFC 6525 §5.2.7).
    mutating func restart(_ streams: [UInt16]) {
        for stream in streams { nextSSN[stream] = nil }
    }

    private mutating func finish(_ stream: UInt16) {
        let left = (unfinished[stream] ?? 1) - 1
        unfinished[stream] = left > 0 ? left : nil
    }

    // MARK: - Chunks

    /// The next chunk that the congestion window and the peer's window allow: a lost one before a new one.
    mutating func nextChunk(at now: Instant) -> SCTPData? {
        guard outstanding.waiting == 0 else { return nextLostChunk() }
        guard let message = pending.first else { return nil }
        let count = min(fragmentSize, message.payload.count - message.offset)
        let flight = outstanding.flight
        guard flight == 0 || (flight < congestion.size && flight + count <= peerWindow) else { return nil }
        if message.offset == 0, !message.reliability.unordered {
            let ssn = nextSSN[message.stream, default: 0]
            pending[0].ssn = ssn
            nextSSN[message.stream] = ssn &+ 1
        }
        let end = message.offset + count
        let data = SCTPData(
            tsn: nextTSN, stream: message.stream, ssn: pending[0].ssn, ppid: message.ppid,
            unordered: message.reliability.unordered,
            begins: message.offset == 0, ends: end == message.payload.count,
            payload: Array(message.payload[message.offset..<end]))
        nextTSN &+= 1
        outstanding.append(
            .init(data: data, message: message.id, reliability: message.reliability, expires: message.expires))
        roundTrip.sent(data.tsn, at: now)
        unfinished[message.stream, default: 0] += 1
        if data.ends {
            finish(message.stream)
            _ = pending.popFirst()
        } else {
            pending[0].offset = end
        }
        return data
    }

    private mutating func nextLostChunk() -> SCTPData? {
        guard let data = outstanding.resendFirstWaiting(within: congestion.size) else { return nil }
        roundTrip.sentAgain(data.tsn)
        return data
    }

    /// Sets the timer for what was sent.
    mutating func setTimer(at now: Instant) {
        if outstanding.isEmpty { timeout = nil } else if timeout == nil { timeout = now + roundTrip.timeout }
    }

    // MARK: - Acknowledgements

    mutating func acknowledge(_ sack: SCTPSack, at now: Instant) -> Acknowledgement {
        guard !serialLess(sack.cumulative, acknowledgedTSN), serialLess(sack.cumulative, nextTSN) else { return .stale }
        let flight = outstanding.flight
        let advanced = sack.cumulative != acknowledgedTSN
        let cumulativeBytes = acknowledge(upTo: sack.cumulative, at: now)
        let (gapBytes, highest) = acknowledge(sack.gaps, at: now)
        let newly = cumulativeBytes + gapBytes
        if advanced || highest != nil { mayForward = true }
        congestion.grow(by: newly, advanced: advanced, flight: flight)
        congestion.acknowledged(upTo: acknowledgedTSN)
        if let highest { countMissing(below: highest) }
        peerWindow = Int(sack.window)
        if advanced { timeout = outstanding.isEmpty ? nil : now + roundTrip.timeout }
        return newly > 0 || advanced || sack.window == 0 ? .alive : .nothingNew
    }

    private mutating func acknowledge(upTo cumulative: UInt32, at now: Instant) -> Int {
        var newly = 0
        while let chunk = outstanding.first, !serialLess(cumulative, chunk.data.tsn) {
            if chunk.state != .acknowledged { newly += chunk.data.payload.count }
            buffered -= chunk.data.ends ? Self.cost(chunk.data.payload.count) : chunk.data.payload.count
            roundTrip.acknowledged(chunk.data.tsn, at: now)
            if chunk.state != .abandoned { finish(chunk.data.stream) }
            outstanding.removeFirst()
        }
        acknowledgedTSN = cumulative
        if serialLess(forwardedTSN, acknowledgedTSN) { forwardedTSN = acknowledgedTSN }
        return newly
    }

    /// The bytes that the gap blocks acknowledge for the first time, and the highest TSN of them.
    private mutating func acknowledge(_ gaps: [ClosedRange<UInt16>], at now: Instant) -> (bytes: Int, highest: UInt32?)
    {
        var newly = 0
        var highest: UInt32?
        // TSNs are consecutive, so an offset is an index. Blocks rise; what a block repeats is skipped.
        var index = 0
        for gap in gaps {
            index = max(index, Int(gap.lowerBound) - 1)
            while index < min(Int(gap.upperBound), outstanding.count) {
                let chunk = outstanding[index]
                if chunk.state == .inFlight || chunk.state == .waiting {
                    outstanding.mark(index, .acknowledged)
                    newly += chunk.data.payload.count
                    roundTrip.acknowledged(chunk.data.tsn, at: now)
                    highest = chunk.data.tsn
                }
                index += 1
            }
        }
        return (newly, highest)
    }

    /// Marks chunks as lost that three reports have passed over (RFC 9260 §7.2.4).
    private mutating func countMissing(below highest: UInt32) {
        var isLost = false
        for index in outstanding.indices {
            guard serialLess(outstanding[index].data.tsn, highest) else { break }
            guard outstanding[index].state == .inFlight, outstanding.countMissing(index) == 3 else { continue }
            isLost = true
            lose(index)
        }
        if isLost { congestion.fastRetransmit(lastTSN: lastTSN) }
    }

    // MARK: - Losses

    /// Whether chunks were in flight for the whole timeout.
    func isTimedOut(at now: Instant) -> Bool { timeout.map { $0 <= now } ?? false && !outstanding.isEmpty }

    /// Marks everything in flight as lost if the timeout has passed (RFC 9260 §6.3.3).
    mutating func loseTimedOut(at now: Instant) {
        guard let due = timeout, due <= now else { return }
        timeout = nil
        guard !outstanding.isEmpty else { return }
        congestion.timedOut()
        roundTrip.timedOut()
        for index in outstanding.indices where outstanding[index].state == .inFlight { lose(index) }
        // A FORWARD-TSN may have been lost too.
        forwardedTSN = acknowledgedTSN
        mayForward = true
    }

    private mutating func lose(_ index: Int) {
        if let limit = outstanding[index].reliability.retransmissions, peerForwards,
            outstanding[index].transmissions > limit
        {
            abandon(at: index)
        } else {
            outstanding.mark(index, .waiting)
        }
    }

    // MARK: - Partial reliability

    private mutating func lookForExpired(at time: Instant) {
        expiry = max(min(expiry ?? time, time), lastExpiry + Self.expiryInterval)
    }

    /// Abandons the messages whose lifetime has ended.
    mutating func giveUpExpired(at now: Instant) {
        guard let due = expiry, due <= now else { return }
        expiry = nil
        lastExpiry = now
        guard peerForwards else { return }
        var next = Instant.distantFuture
        for index in outstanding.indices {
            guard let expires = outstanding[index].expires else { continue }
            switch outstanding[index].state {
            case .acknowledged, .abandoned: continue
            case .inFlight, .waiting: if expires <= now { abandon(at: index) } else { next = min(next, expires) }
            }
        }
        var expired: [(stream: UInt16, bytes: Int)] = []
        pending.removeAll { message in
            guard let expires = message.expires, message.offset == 0 else { return false }
            guard expires <= now else {
                next = min(next, expires)
                return false
            }
            expired.append((message.stream, message.payload.count))
            return true
        }
        for message in expired {
            buffered -= Self.cost(message.bytes)
            finish(message.stream)
        }
        if next < .distantFuture { lookForExpired(at: next) }
    }

    /// Abandons the message of a chunk: its chunks are consecutive, and its unsent part is the first pending message.
    private mutating func abandon(at index: Int) {
        let message = outstanding[index].message
        if let first = pending.first, first.id == message {
            buffered -= Self.cost(first.payload.count - first.offset)
            finish(first.stream)
            _ = pending.popFirst()
        }
        var place = index
        while place > 0, outstanding[place - 1].message == message { place -= 1 }
        while place < outstanding.count, outstanding[place].message == message {
            if outstanding.mark(place, .abandoned) {
                finish(outstanding[place].data.stream)
                mayForward = true
            }
            place += 1
        }
    }

    /// The FORWARD-TSN over the abandoned chunks (RFC 3758 §3.5), if the peer has not received it yet.
    mutating func takeForwardTSN() -> SCTPChunk? {
        guard mayForward else { return nil }
        mayForward = false
        guard outstanding.first?.state == .abandoned else { return nil }
        var target = acknowledgedTSN
        var skips: [UInt16: UInt16] = [:]
        for index in outstanding.indices {
            let chunk = outstanding[index]
            guard chunk.state == .abandoned || chunk.state == .acknowledged,
                skips.count < SCTPConfiguration.mostNamedStreams
            else { break }
            target = chunk.data.tsn
            if chunk.state == .abandoned, !chunk.data.unordered { skips[chunk.data.stream] = chunk.data.ssn }
        }
        guard serialLess(forwardedTSN, target) else { return nil }
        forwardedTSN = target
        return .forwardTSN(target, skips.map { SCTPSkip(stream: $0.key, ssn: $0.value) })
    }
}
