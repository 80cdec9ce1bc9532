import Basics

/// The violations of SCTP that end the association (RFC 9260 §3.3.10.13).
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

/// The DATA that one association receives: which chunks are accepted, when messages are delivered, and the SACKs that
/// acknowledge them.
///
/// Not copyable: its tables are large.
struct SCTPReceiver: ~Copyable {
    private static let sackDelay = Duration.milliseconds(20)
    /// The most bytes of refused chunks, with headers, without an accepted one between them, in receive windows: a peer
    /// that obeys RFC 9260 §6.1 has at most one window in flight, and then sends one chunk per timeout.
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
    /// When the budget allows the next message.
    private var deliverAt: Instant?
    private var isSlowed = false
    private var refusedBytes = 0
    private var advertisedWindow: Int
    /// Packets with DATA since the last SACK.
    private var unacknowledgedPackets = 0
    private var sackAt: Instant?
    private var owesSack = false
    /// Chunks that were refused: the window was full, or too many were missing before them.
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
        // A message larger than the bucket would wait for ever.
        byteBudget = TokenBucket(
            rate: budget.bytesPerSecond, size: max(budget.byteBurst, Double(configuration.maximumMessage)), at: .zero)
        advertisedWindow = configuration.receiveWindow
    }

    /// Bytes received and not yet delivered, with the overhead of holding them.
    var held: Int { reassembly.held }
    /// Chunks and messages that were dropped because they could never be completed.
    var discarded: Int { reassembly.discarded }
    /// Fragments of messages that are not complete.
    var fragments: Int { reassembly.fragments.count }
    /// All up to this TSN were received, or abandoned by their sender.
    var cumulativeTSN: UInt32 { numbers.cumulative }
    /// When `advance` or `nextMessage` has something to do.
    var nextDeadline: Instant? {
        guard let sackAt, let deliverAt else { return sackAt ?? deliverAt }
        return min(sackAt, deliverAt)
    }

    /// Takes the peer's initial TSN from its INIT or INIT ACK.
    mutating func adopt(initialTSN: UInt32) { numbers = SCTPReceivedNumbers(cumulative: initialTSN &- 1) }

    /// Drops everything: the association has ended.
    mutating func removeAll() {
        reassembly.removeAll()
        (sackAt, deliverAt) = (nil, nil)
    }

    // MARK: - Chunks

    /// Takes a chunk; false if it is a duplicate or refused, so that there is nothing new to deliver.
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

    /// Beyond the window only the chunk that fills the first gap is accepted: the chunks behind the gap may need it.
    /// Then a peer that obeys the rules makes us hold at most one message beyond the window, so twice that is enough.
    private func hasRoom(for data: SCTPData) -> Bool {
        guard numbers.hasRoom(for: data.tsn) else { return false }
        let isFirstMissing = data.tsn == numbers.cumulative &+ 1
        guard isFirstMissing || reassembly.hasRoom(for: data) else { return false }
        let held = held + data.payload.count + SCTPReassembly.bookkeeping
        if held <= window { return true }
        return isFirstMissing && numbers.hasHoles && held <= window + 2 * maximumMessage
    }

    /// Refuses a chunk: it is not acknowledged, so that its sender sends it again when there is room.
    private mutating func refuse(_ data: SCTPData) throws(SCTPViolation) {
        refusedChunks += 1
        owesSack = true
        refusedBytes += data.payload.count + Self.dataHeader
        if refusedBytes > Self.refusedWindows * window { throw .ignoredWindow }
    }

    /// Skips everything up to `tsn`, which the sender abandoned (RFC 3758 §3.6); false if that is nothing new.
    mutating func forward(to tsn: UInt32, _ skips: [SCTPSkip]) -> Bool {
        owesSack = true
        guard serialLess(numbers.cumulative, tsn), tsn &- numbers.cumulative < SCTPReceivedNumbers.furthestAhead else {
            return false
        }
        numbers.advance(to: tsn)
        reassembly.forward(to: tsn, skips)
        return true
    }

    /// Resets streams of the peer (RFC 6525 §5.2.2); false while anything that was sent on them is missing or was not
    /// delivered.
    mutating func reset(_ streams: [UInt16], sentUpTo lastTSN: UInt32) -> Bool {
        guard !serialLess(numbers.cumulative, lastTSN), !reassembly.hasUndelivered else { return false }
        reassembly.reset(streams)
        return true
    }

    // MARK: - Delivery

    /// The next whole message, at the rate that the budget allows. Messages that wait fill the window, which slows an
    /// honest sender down without loss.
    mutating func nextMessage(at now: Instant) -> SCTPReassembly.Message? {
        deliverAt = nil
        guard let message = reassembly.first else {
            isSlowed = false
            announceOpenWindow()
            return nil
        }
        let wait = max(messageBudget.wait(at: now), byteBudget.wait(for: Double(message.payload.count), at: now))
        guard wait == .zero else {
            if !isSlowed { slowed += 1 }
            isSlowed = true
            deliverAt = now + wait
            announceOpenWindow()
            return nil
        }
        messageBudget.spend(1, at: now)
        byteBudget.spend(Double(message.payload.count), at: now)
        return reassembly.takeFirst()
    }

    /// Whether messages wait for the budget, and it now allows the next one.
    func mayDeliver(at now: Instant) -> Bool { deliverAt.map { $0 <= now } ?? false }

    /// Announces at once that the window is open again if the last SACK announced it as almost closed (RFC 9260 §6.2):
    /// the sender waits for it.
    private mutating func announceOpenWindow() {
        if advertisedWindow < packetSize, window - held >= window / 4 { owesSack = true }
    }

    // MARK: - SACK

    /// Records that a packet with DATA was processed.
    mutating func finishPacket(at now: Instant) {
        unacknowledgedPackets += 1
        if unacknowledgedPackets >= 2 || numbers.hasHoles || !numbers.duplicates.isEmpty { owesSack = true }
        if sackAt == nil { sackAt = now + Self.sackDelay }
    }

    mutating func advance(to now: Instant) {
        if let due = sackAt, due <= now { owesSack = true }
    }

    /// The SACK, if one is due.
    mutating func takeSack() -> SCTPSack? {
        guard owesSack else { return nil }
        unacknowledgedPackets = 0
        owesSack = false
        sackAt = nil
        advertisedWindow = max(0, window - held)
        return numbers.report(window: UInt32(clamping: advertisedWindow))
    }
}
