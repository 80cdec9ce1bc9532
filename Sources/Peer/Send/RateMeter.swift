import Basics

/// Bytes of the last second as a rate, in ten steps.
struct RateMeter: Sendable {
    static let step: Duration = .milliseconds(100)
    static let steps = 10
    /// A byte a step in bits a second.
    private static let bitsPerStep = Int(8_000_000_000 / step.nanoseconds)
    private static let stepNanoseconds = step.nanoseconds

    private var buckets = [Int](repeating: 0, count: steps)
    private var position: Int64 = 0
    private var first: Int64?

    mutating func add(_ bytes: Int, at now: Instant) {
        move(to: now)
        buckets[index(position)] += bytes
    }

    /// Young meters divide by their age, so that the first second does not read low.
    mutating func rate(at now: Instant) -> BitRate {
        move(to: now)
        guard let first else { return .zero }
        let age = min(max(position - first + 1, 2), Int64(Self.steps))
        return BitRate(bitsPerSecond: buckets.reduce(0, +) * Self.bitsPerStep / Int(age))
    }

    private mutating func move(to now: Instant) {
        let current = now.nanoseconds / Self.stepNanoseconds
        guard first != nil else {
            first = current
            position = current
            return
        }
        guard current > position else { return }
        for step in 1...min(current - position, Int64(Self.steps)) { buckets[index(position + step)] = 0 }
        position = current
    }

    private func index(_ position: Int64) -> Int { Int(((position % Int64(Self.steps)) + Int64(Self.steps)) % Int64(Self.steps)) }
}
