/// One way in from outside: a parser or a whole machine, what its bytes look like, and what they may cost.
public struct FuzzTarget: Sendable, CustomStringConvertible {
    /// How often an input may be over its limits before it counts: other tests use the heap at the same time, and a
    /// page fault or a neighbour on the same core is no finding.
    private static let tries = 4

    /// Its name on the command line and its folder in `Crashers`.
    public let name: String
    /// What it covers, for people.
    public let covers: String
    public let limits: WorkLimits
    /// The longest input in bytes.
    public let maximumLength: Int
    /// How many damaged inputs a short run tries.
    public let seededRounds: Int
    /// Words of its language, for the fuzzer's dictionary.
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

    /// Authentic inputs to start from.
    public var seeds: [[UInt8]] { makeSeeds() }

    public var description: String { name }

    /// Runs one input. A trap in what is under test is a finding, and so is too much time or memory: both end the
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

    /// Runs one input and says what it cost.
    public func measure(_ bytes: [UInt8]) -> Work {
        var work = Work(limits)
        body(FuzzInput(bytes.count > maximumLength ? Array(bytes.prefix(maximumLength)) : bytes), &work)
        work.stop()
        return work
    }
}
