import Basics

/// The steepest descendant of each seed: where a fuzzer looks for what costs too much.
///
/// Coverage leads a fuzzer to new code, and what is quadratic runs no other code than what is not. So a part of the
/// inputs are children of these, and a child that is steeper than its parent takes its place. A line for each seed,
/// because one mistake found is not all.
public struct Climb {
    private var lines: [(bytes: [UInt8], cost: Double)]
    private var random: SeededRandom
    /// The line whose child runs next.
    private var current: Int?

    /// How many lines a choice compares, of which the steepest is taken: those that have come far are tried more often.
    private static let compared = 4
    /// Less is noise.
    private static let growth = 1.05

    /// - Parameter cost: of an input: `Work.steepness`.
    public init(seeds: [[UInt8]], seed: UInt64, cost: ([UInt8]) -> Double) {
        lines = seeds.map { ($0, cost($0)) }
        random = SeededRandom(seed: seed)
    }

    /// The steepest of each line, in the order of the seeds.
    public var steepest: [[UInt8]] { lines.map(\.bytes) }

    /// Every second time an input to change and run next; nil: the fuzzer's own choice.
    public mutating func parent() -> [UInt8]? {
        current = nil
        guard Bool.random(using: &random) else { return nil }
        let some = (0..<Self.compared).compactMap { _ in lines.indices.randomElement(using: &random) }
        current = some.max { lines[$0].cost < lines[$1].cost }
        return current.map { lines[$0].bytes }
    }

    /// Takes what the last input cost. `again` measures it once more, so that no page fault or neighbour raises a line.
    public mutating func note(_ bytes: [UInt8], cost: Double, again: () -> Double) {
        defer { current = nil }
        guard let index = current, cost > lines[index].cost * Self.growth else { return }
        let cost = min(cost, again())
        if cost > lines[index].cost * Self.growth { lines[index] = (bytes, cost) }
    }
}
