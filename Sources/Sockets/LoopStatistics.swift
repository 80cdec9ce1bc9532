import Synchronization

/// What a loop's sockets counted since the start, and how much there is now.
public struct MediaLoopStatistics: Hashable, Sendable {
    /// TCP connections that peers and strangers have now.
    public var connections = 0
    /// Those of them that no peer has claimed.
    public var strangers = 0
    public var accepted = 0
    /// Refused because all places were taken, and because those of the address were.
    public var refusedInAll = 0
    public var refusedOfAddress = 0
    /// Strangers that went because somebody else came.
    public var displaced = 0
    /// Strangers that brought no authentic check in time.
    public var unclaimed = 0
    /// Connections without a whole frame for too long, and those whose receiver took nothing for too long.
    public var idle = 0
    public var stalled = 0
    /// How often those who wait were left waiting, because enough were taken for now.
    public var heldUp = 0
    /// Accepts that the system refused for lack of descriptors or memory.
    public var acceptFailures = 0
    /// Datagrams and frames that found no room on their way out.
    public var droppedOut = 0
    /// Datagrams that were dropped because their source port is 0: nobody can be answered there.
    public var unanswerable = 0
    /// Segmented writes that a destination's way did not take.
    public var segmentationRefusals = 0

    public init() {}

    /// Adds those of another loop.
    mutating func add(_ other: MediaLoopStatistics) {
        for field in Self.fields { self[keyPath: field] += other[keyPath: field] }
    }

    private static var fields: [WritableKeyPath<MediaLoopStatistics, Int>] {
        [
            \.connections, \.strangers, \.accepted, \.refusedInAll, \.refusedOfAddress, \.displaced, \.unclaimed,
            \.idle, \.stalled,
            \.heldUp, \.acceptFailures, \.droppedOut, \.unanswerable, \.segmentationRefusals,
        ]
    }
}

/// The same as counters that the loop writes and any thread reads.
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
        result.unanswerable = unanswerable.load(ordering: .relaxed)
        result.segmentationRefusals = segmentationRefusals.load(ordering: .relaxed)
        return result
    }
}

/// One more. A function, since an atomic cannot be handed around.
func increment(_ counter: borrowing Atomic<Int>, _ amount: Int = 1) { counter.wrappingAdd(amount, ordering: .relaxed) }
