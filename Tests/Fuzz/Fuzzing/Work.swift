import CFuzzing
import Glibc
import Threads

/// The limits of an input: time in proportion to the input, so that quadratic work exceeds it, and the memory in use at
/// the end.
public struct WorkLimits: Sendable {
    /// Processor time of an optimised build on a machine of 2024; `Speed` scales it for other builds and machines.
    public let base: Duration
    public let perByte: Duration
    /// The time of a step: an operation of the script, or a received or sent datagram.
    public let perStep: Duration
    /// The growth of the heap in bytes.
    public let memory: Int

    /// The default limits, five to ten times the cost of the most expensive valid inputs.
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

/// Counts the size and the cost of one input.
///
/// Time is the processor time of this thread, so a busy machine causes no finding.
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

    /// Starts the measurement; the preparation before does not count.
    public mutating func start() {
        begin = Self.processorTime
        heapBefore = Self.heap
    }

    public mutating func step(bytes count: Int = 0, _ number: Int = 1) {
        steps += number
        bytes += count
    }

    /// Measures the heap; a body calls it while the objects under test still exist.
    public mutating func weigh() { heapHeld = max(heapHeld, Self.heap - heapBefore) }

    mutating func stop() { used = Self.processorTime - begin }

    /// The time that is allowed for the input so far.
    private var allowance: Duration { (limits.base + limits.perByte * bytes + limits.perStep * steps) * Speed.slowness }

    /// The used parts of the allowed time and memory.
    public var timeShare: Double { used / allowance }
    public var memoryShare: Double { Double(heapHeld) / Double(limits.memory) }

    /// The time in relation to the size of the input, almost without the base. Linear work has the same value at every
    /// length, and quadratic work a larger one with more bytes, so a climb leads to inputs in which a few more bytes
    /// cost much more.
    public var steepness: Double {
        max(used / ((limits.base / 50 + limits.perByte * bytes + limits.perStep * steps) * Speed.slowness), memoryShare)
    }

    /// Reports to a fuzzer how close to its limits an input came, as if each further step were new code: the fuzzer
    /// keeps inputs that cost more than all before, and so climbs towards quadratic work.
    func show() {
        fuzzing_show_cost(FUZZING_TIME, Self.level(timeShare))
        fuzzing_show_cost(FUZZING_MEMORY, Self.level(memoryShare))
    }

    /// 0 below 1/16 of the limit, then one more for each quarter of an octave.
    static func level(_ share: Double) -> UInt32 {
        guard share >= 1.0 / 16 else { return 0 }
        return UInt32(min(4 * log2(share * 16) + 1, Double(FUZZING_LEVELS - 1)))
    }

    /// A description of the cost.
    public var description: String {
        "\(bytes) bytes in \(steps) steps took \(Self.milliseconds(used)) of \(Self.milliseconds(allowance)) ms and held \(heapHeld >> 10) of \(limits.memory >> 10) KiB"
    }

    /// A description of an exceeded limit.
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
