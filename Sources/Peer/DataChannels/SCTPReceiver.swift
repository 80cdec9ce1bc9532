import Basics

/// How a peer breaks SCTP, so that the association is ended (RFC 9260 §3.3.10.13).
enum SCTPViolation: Error, Equatable {
    case emptyData
    case oversizedMessage(limit: Int)
    case ignoredWindow

    /// A sentence for the log.
    var reason: String {
        switch self {
        case .emptyData: "the data channel peer sent a chunk without data"
        case .oversizedMessage(let limit): "a message was longer than \(limit) bytes"
        case .ignoredWindow: "the data channel peer sends on into a window that is closed"
        }
    }
}

/// DATA that one association receives: which chunks are taken, when messages are delivered, and the SACKs that answer
/// them.
///
/// Not copyable: its tables are large.
struct SCTPReceiver: ~Copyable {
    private static let sackDelay = Duration.milliseconds(20)
    /// Payload and headers of refused chunks, without one that was taken between them, in receive windows: a peer that
    /// keeps to RFC 9260 §6.1 has at most one under way, and then sends one chunk a timeout.
    private static let refusedWindows = 4
    /// The bytes of a DATA chunk's header.
    private static let dataHeader = 16

    private let window: Int
    private let packetSize: Int
    private let maximumMessage: Int
    private var numbers = SCTPReceivedNumbers(cumulative: 0)
    private var reassembly: SCTPReassembly
    private var messageBudget: TokenBucket
    private var byteBudget: TokenBucket
    /// When the budget lets the next message go.
    private var deliverAt: Instant?
    private var isSlowed = false
    private var refusedBytes = 0
    private var advertisedWindow: Int
    /// Packets with DATA since the last SACK.
    private var unacknowledgedPackets = 0
    private var sackAt: Instant?
    private var owesSack = false
    /// Chunks that were not taken: the window was full, or too much was missing before them.
    private(set) var refusedChunks = 0
    /// How often messages had to wait for the budget.
    private(set) var slowed = 0

    init(_ configuration: SCTPConfiguration) {
        window = configuration.receiveWindow
        packetSize = configuration.packetSize
        maximumMessage = configuration.maximumMessage
        reassembly = SCTPReassembly(streams: configuration.streams, maximumMessage: configuration.maximumMessage)
        let budget = configuration.budget
        messageBudget = TokenBucket(rate: budget.messagesPerSecond, size: budget.messageBurst, at: .zero)
        // A message that is larger than the bucket would wait for ever.
        byteBudget = TokenBucket(
            rate: budget.bytesPerSecond, size: max(budget.byteBurst, Double(configuration.maximumMessage)), at: .zero)
        advertisedWindow = configuration.receiveWindow
    }

    /// Bytes received and not yet delivered, with what they cost to hold.
    var held: Int { reassembly.held }
    /// Chunks and messages that were dropped because nothing could have come of them.
    var discarded: Int { reassembly.discarded }
    /// Fragments of messages that are not whole.
    var fragments: Int { reassembly.fragments.count }
    /// All up to this TSN were received, or given up by their sender.
    var cumulativeTSN: UInt32 { numbers.cumulative }
    /// When `advance` or `nextMessage` has something to do.
    var nextDeadline: Instant? {
        guard let sackAt, let deliverAt else { return sackAt ?? deliverAt }
        return min(sackAt, deliverAt)
    }

    /// The peer's INIT or INIT ACK named its first TSN.
    mutating func adopt(initialTSN: UInt32) { numbers = SCTPReceivedNumbers(cumulative: initialTSN &- 1) }

    /// The association is over.
    mutating func removeAll() {
        reassembly.removeAll()
        (sackAt, deliverAt) = (nil, nil)
    }

    // MARK: - Chunks

    /// Takes a chunk; false when it is a duplicate or refused, which leaves nothing new to deliver.
    mutating func receive(_ data: SCTPData) throws(SCTPViolation) -> Bool {
        // RFC 9260 §6.2: DATA without user data ends the association.
        guard !data.payload.isEmpty else { throw .emptyData }
        guard !numbers.contains(data.tsn) else {
            numbers.noteDuplicate(data.tsn)
            return false
        }
        guard hasRoom(for: data) else {
            try refuse(data)
            return false
        }
        refusedBytes = 0
        let (isAfter, isBefore) = (numbers.contains(data.tsn &- 1), numbers.contains(data.tsn &+ 1))
        numbers.insert(data.tsn)
        guard reassembly.add(data, isAfterReceived: isAfter, isBeforeReceived: isBefore) else {
            throw .oversizedMessage(limit: maximumMessage)
        }
        return true
    }

    /// Over the window only what fills the first hole is taken: what waits behind it may need it. Then no more than one
    /// message of a peer that keeps to the rules can be held beside the window, so twice that is room enough.
    private func hasRoom(for data: SCTPData) -> Bool {
        guard numbers.hasRoom(for: data.tsn) else { return false }
        let isFirstMissing = data.tsn == numbers.cumulative &+ 1
        guard isFirstMissing || reassembly.hasRoom(for: data) else { return false }
        let held = held + data.payload.count + SCTPReassembly.bookkeeping
        if held <= window { return true }
        return isFirstMissing && numbers.hasHoles && held <= window + 2 * maximumMessage
    }

    /// A refused chunk is not acknowledged, so that its sender sends it again when there is room.
    private mutating func refuse(_ data: SCTPData) throws(SCTPViolation) {
        refusedChunks += 1
        owesSack = true
        refusedBytes += data.payload.count + Self.dataHeader
        if refusedBytes > Self.refusedWindows * window { throw .ignoredWindow }
    }

    /// The sender gave up everything up to `tsn` (RFC 3758 §3.6); false when that is nothing new.
    mutating func forward(to tsn: UInt32, _ skips: [SCTPSkip]) -> Bool {
        owesSack = true
        guard serialLess(numbers.cumulative, tsn), tsn &- numbers.cumulative < SCTPReceivedNumbers.furthestAhead else {
            return false
        }
        numbers.advance(to: tsn)
        reassembly.forward(to: tsn, skips)
        return true
    }

    /// Starts streams anew (RFC 6525 §5.2.2); false while something that was sent on them is missing or was not
    /// delivered.
    mutating func reset(_ streams: [UInt16], sentUpTo lastTSN: UInt32) -> Bool {
        guard !serialLess(numbers.cumulative, lastTSN), !reassembly.hasUndelivered else { return false }
        reassembly.reset(streams)
        return true
    }

    // MARK: - Delivery

    /// The next whole message, as fast as the budget allows. What waits fills the window, which slows an honest sender
    /// down without a loss.
    mutating func nextMessage(at now: Instant) -> SCTPReassembly.Message? {
        deliverAt = nil
        guard let message = reassembly.first else {
            isSlowed = false
            tellOpenWindow()
            return nil
        }
        let wait = max(messageBudget.wait(at: now), byteBudget.wait(for: Double(message.payload.count), at: now))
        guard wait == .zero else {
            if !isSlowed { slowed += 1 }
            isSlowed = true
            deliverAt = now + wait
            tellOpenWindow()
            return nil
        }
        messageBudget.spend(1, at: now)
        byteBudget.spend(Double(message.payload.count), at: now)
        return reassembly.takeFirst()
    }

    /// Whether messages wait for the budget, and it has room for the next one.
    func mayDeliver(at now: Instant) -> Bool { deliverAt.map { $0 <= now } ?? false }

    /// A window that was told as all but closed and is open again is told at once (RFC 9260 §6.2): the sender waits for
    /// it.
    private mutating func tellOpenWindow() {
        if advertisedWindow < packetSize, window - held >= window / 4 { owesSack = true }
    }

    // MARK: - SACK

    /// A packet with DATA was worked through.
    mutating func finishPacket(at now: Instant) {
        unacknowledgedPackets += 1
        if unacknowledgedPackets >= 2 || numbers.hasHoles || !numbers.duplicates.isEmpty { owesSack = true }
        if sackAt == nil { sackAt = now + Self.sackDelay }
    }

    mutating func advance(to now: Instant) {
        if let due = sackAt, due <= now { owesSack = true }
    }

    /// The SACK that is due, if one is.
    mutating func takeSack() -> SCTPSack? {
        guard owesSack else { return nil }
        unacknowledgedPackets = 0
        owesSack = false
        sackAt = nil
        advertisedWindow = max(0, window - held)
        return numbers.report(window: UInt32(clamping: advertisedWindow))
    }
}
