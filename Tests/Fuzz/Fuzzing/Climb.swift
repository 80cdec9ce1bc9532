import Basics

/// The steepest descendant of each seed, from which a fuzzer searches for inputs that cost too much.
///
/// Coverage leads a fuzzer to new code, but quadratic work runs the same code as linear work. So a part of the inputs
/// are children of these descendants, and a child that is steeper than its parent replaces it. Each seed has a line of
/// its own, because there may be more than one fault.
public struct Climb {
    private var lines: [(bytes: [UInt8], cost: Double)]
    private var random: SeededRandom
    /// The line whose child runs next.
    private var current: Int?

    /// How many lines a choice compares to take the steepest, so that steep lines are tried more often.
    private static let compared = 4
    /// The smallest relevant increase; less is noise.
    private static let growth = 1.05

    /// - Parameter cost: returns `Work.steepness` of an input.
    public init(seeds: [[UInt8]], seed: UInt64, cost: ([UInt8]) -> Double) {
        lines = seeds.map { ($0, cost($0)) }
        random = SeededRandom(seed: seed)
    }

    /// The steepest input of each line, in the order of the seeds.
    public var steepest: [[UInt8]] { lines.map(\.bytes) }

    /// Returns an input to mutate next at every second call; nil for the fuzzer's own choice.
    public mutating func parent() -> [UInt8]? {
        current = nil
        guard Bool.random(using: &random) else { return nil }
        let some = (0..<Self.compared).compactMap { _ in lines.indices.randomElement(using: &random) }
        current = some.max { lines[$0].cost < lines[$1].cost }
        return current.map { lines[$0].bytes }
    }

    /// Takes the cost of the last input. `again` measures it once more, so that a page fault or another process does
    /// not raise a line.
    public mutating func note(_ bytes: [UInt8], cost: Double, again: () -> Double) {
        defer { current = nil }
        guard let index = current, cost > lines[index].cost * Self.growth else { return }
        let cost = min(cost, again())
        if cost > lines[index].cost * Self.growth { lines[index] = (bytes, cost) }
    }
}
