/// One fuzz target: a parser or a whole state machine, its seeds, and its limits.
public struct FuzzTarget: Sendable, CustomStringConvertible {
    /// How often an input may exceed its limits before it counts as a finding: other tests use the heap at the same
    /// time, and page faults or other processes on the same core are no findings.
    private static let tries = 4

    /// The name on the command line, and of the folder in `Crashers`.
    public let name: String
    /// A description of the code under test.
    public let covers: String
    public let limits: WorkLimits
    /// The longest input in bytes.
    public let maximumLength: Int
    /// The number of damaged inputs in a short run.
    public let seededRounds: Int
    /// The words of the fuzzer's dictionary.
    public let words: [String]
    private let makeSeeds: @Sendable () -> [[UInt8]]
    private let body: @Sendable (FuzzInput, inout Work) -> Void

    public init(
        _ name: String, covers: String, limits: WorkLimits = WorkLimits(), maximumLength: Int = 4096,
        seededRounds: Int = 1000, words: [String] = [],
        seeds: @escaping @Sendable () -> [[UInt8]], body: @escaping @Sendable (FuzzInput, inout Work) -> Void
    ) {
        self.name = name
        self.covers = covers
        self.limits = limits
        self.maximumLength = maximumLength
        self.seededRounds = seededRounds
        self.words = words
        makeSeeds = seeds
        self.body = body
    }

    /// Valid inputs to start from.
    public var seeds: [[UInt8]] { makeSeeds() }

    public var description: String { name }

    /// Runs one input. A trap in the code under test is a finding, and so is too much time or memory: both end the
    /// process.
    @discardableResult
    public func run(_ bytes: [UInt8]) -> Work {
        let first = measure(bytes)
        first.show()
        guard let fault = first.fault, (1..<Self.tries).allSatisfy({ _ in measure(bytes).fault != nil }) else {
            return first
        }
        fatalError("\(name): \(fault)")
    }

    /// Runs one input and returns its cost.
    public func measure(_ bytes: [UInt8]) -> Work {
        var work = Work(limits)
        body(FuzzInput(bytes.count > maximumLength ? Array(bytes.prefix(maximumLength)) : bytes), &work)
        work.stop()
        return work
    }
}
