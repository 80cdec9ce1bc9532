import Synchronization

/// The counts of a loop's sockets since the start, and the current number of connections.
public struct MediaLoopStatistics: Hashable, Sendable {
    /// Current TCP connections of peers and strangers.
    public var connections = 0
    /// The current connections that no peer has claimed.
    public var strangers = 0
    public var accepted = 0
    /// Connections that were refused because of the total limit, and because of the address's limit.
    public var refusedInAll = 0
    public var refusedOfAddress = 0
    /// Strangers that were closed in favour of a new connection.
    public var displaced = 0
    /// Strangers that were closed because no authenticated check came in time.
    public var unclaimed = 0
    /// Connections that were closed because no whole frame came (`idle`), or because their receiver read nothing
    /// (`stalled`).
    public var idle = 0
    public var stalled = 0
    /// How often waiting connections were left in the backlog because the rate of accepts was used up.
    public var heldUp = 0
    /// Accepts that the system refused for lack of descriptors or memory.
    public var acceptFailures = 0
    /// Datagrams and frames to send that were dropped for lack of buffer space.
    public var droppedOut = 0
    /// Datagrams that the system dropped because the loop had not read those before them in time.
    public var unread = 0
    /// Received datagrams that were dropped because their source port is 0, where no answer can be sent.
    public var unanswerable = 0
    /// Segmented writes that failed on the path to a destination.
    public var segmentationRefusals = 0

    public init() {}

    /// Adds the statistics of another loop.
    mutating func add(_ other: MediaLoopStatistics) {
        for field in Self.fields { self[keyPath: field] += other[keyPath: field] }
    }

    private static var fields: [WritableKeyPath<MediaLoopStatistics, Int>] {
        [
            \.connections, \.strangers, \.accepted, \.refusedInAll, \.refusedOfAddress, \.displaced, \.unclaimed,
            \.idle, \.stalled,
            \.heldUp, \.acceptFailures, \.droppedOut, \.unread, \.unanswerable, \.segmentationRefusals,
        ]
    }
}

/// The counters behind `MediaLoopStatistics`: the loop writes them, and any thread reads them.
final class LoopCounters: Sendable {
    let connections = Atomic<Int>(0)
    let strangers = Atomic<Int>(0)
    let accepted = Atomic<Int>(0)
    let refusedInAll = Atomic<Int>(0)
    let refusedOfAddress = Atomic<Int>(0)
    let displaced = Atomic<Int>(0)
    let unclaimed = Atomic<Int>(0)
    let idle = Atomic<Int>(0)
    let stalled = Atomic<Int>(0)
    let heldUp = Atomic<Int>(0)
    let acceptFailures = Atomic<Int>(0)
    let droppedOut = Atomic<Int>(0)
    let unread = Atomic<Int>(0)
    let unanswerable = Atomic<Int>(0)
    let segmentationRefusals = Atomic<Int>(0)

    var statistics: MediaLoopStatistics {
        var result = MediaLoopStatistics()
        result.connections = connections.load(ordering: .relaxed)
        result.strangers = strangers.load(ordering: .relaxed)
        result.accepted = accepted.load(ordering: .relaxed)
        result.refusedInAll = refusedInAll.load(ordering: .relaxed)
        result.refusedOfAddress = refusedOfAddress.load(ordering: .relaxed)
        result.displaced = displaced.load(ordering: .relaxed)
        result.unclaimed = unclaimed.load(ordering: .relaxed)
        result.idle = idle.load(ordering: .relaxed)
        result.stalled = stalled.load(ordering: .relaxed)
        result.heldUp = heldUp.load(ordering: .relaxed)
        result.acceptFailures = acceptFailures.load(ordering: .relaxed)
        result.droppedOut = droppedOut.load(ordering: .relaxed)
        result.unread = unread.load(ordering: .relaxed)
        result.unanswerable = unanswerable.load(ordering: .relaxed)
        result.segmentationRefusals = segmentationRefusals.load(ordering: .relaxed)
        return result
    }
}

/// Adds to a counter. A function, because a closure or key path cannot carry an atomic.
func increment(_ counter: borrowing Atomic<Int>, _ amount: Int = 1) { counter.wrappingAdd(amount, ordering: .relaxed) }
