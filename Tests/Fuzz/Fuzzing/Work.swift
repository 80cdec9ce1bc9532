import CFuzzing
import Glibc
import Threads

/// What an input may cost: time in proportion to what came in, so that anything quadratic shows, and memory that is
/// held at the end.
public struct WorkLimits: Sendable {
    /// Of processor time for an optimised build on a machine of 2024; `Speed` stretches it for others.
    public let base: Duration
    public let perByte: Duration
    /// A step is an operation of the script, a datagram in or a datagram out.
    public let perStep: Duration
    /// Bytes on the heap beside what was there at the start.
    public let memory: Int

    /// The usual limits are five to ten times what the dearest honest inputs take.
    public init(
        base: Duration = .milliseconds(5), perByte: Duration = .nanoseconds(100), perStep: Duration = .microseconds(10),
        memory: Int = 4 << 20
    ) {
        self.base = base
        self.perByte = perByte
        self.perStep = perStep
        self.memory = memory
    }
}

/// Counts what one input brought and what it cost.
///
/// Time is that of this thread's processor, so a busy machine raises no alarm.
public struct Work: CustomStringConvertible {
    private let limits: WorkLimits
    private var begin: Duration
    private var heapBefore: Int
    private var heapHeld = 0
    public private(set) var bytes = 0
    public private(set) var steps = 0
    private var used = Duration.zero

    public init(_ limits: WorkLimits) {
        self.limits = limits
        begin = Self.processorTime
        heapBefore = Self.heap
    }

    /// What was made ready until now does not count.
    public mutating func start() {
        begin = Self.processorTime
        heapBefore = Self.heap
    }

    public mutating func step(bytes count: Int = 0, _ number: Int = 1) {
        steps += number
        bytes += count
    }

    /// Looks at the heap; a body calls it while it still has what it made.
    public mutating func weigh() { heapHeld = max(heapHeld, Self.heap - heapBefore) }

    mutating func stop() { used = Self.processorTime - begin }

    /// So much time is allowed for what has come so far.
    private var allowance: Duration { (limits.base + limits.perByte * bytes + limits.perStep * steps) * Speed.slowness }

    /// The parts of the allowed time and memory that were used.
    public var timeShare: Double { used / allowance }
    public var memoryShare: Double { Double(heapHeld) / Double(limits.memory) }

    /// How steep the way up is: time for what came in, nearly without the base. What is linear has the same at every
    /// length, and what is quadratic has more the longer it is, so a climb by this goes where a few bytes more cost
    /// much more.
    public var steepness: Double {
        max(used / ((limits.base / 50 + limits.perByte * bytes + limits.perStep * steps) * Speed.slowness), memoryShare)
    }

    /// Shows a fuzzer how near to its limits an input came, as if each step nearer were new code: it keeps what costs
    /// more than all before, and so climbs towards what is quadratic.
    func show() {
        fuzzing_show_cost(FUZZING_TIME, Self.level(timeShare))
        fuzzing_show_cost(FUZZING_MEMORY, Self.level(memoryShare))
    }

    /// 0 below 1/16 of what is allowed, then one more for each quarter of an octave.
    static func level(_ share: Double) -> UInt32 {
        guard share >= 1.0 / 16 else { return 0 }
        return UInt32(min(4 * log2(share * 16) + 1, Double(FUZZING_LEVELS - 1)))
    }

    /// What it cost, in words.
    public var description: String {
        "\(bytes) bytes in \(steps) steps took \(Self.milliseconds(used)) of \(Self.milliseconds(allowance)) ms and held \(heapHeld >> 10) of \(limits.memory >> 10) KiB"
    }

    /// Too much time or memory, in words.
    var fault: String? {
        if timeShare > 1 { return "too much time: \(description)" }
        if memoryShare > 1 { return "too much memory: \(description)" }
        return nil
    }

    static var processorTime: Duration { .nanoseconds(ThreadClock.nanoseconds()) }

    static var heap: Int { Int(fuzzing_heap()) }

    private static func milliseconds(_ duration: Duration) -> String {
        String(Double(Int(duration / .microseconds(10))) / 100)
    }
}
