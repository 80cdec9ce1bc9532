/// The rate of the bytes of the last second, in ten buckets of 100 ms.
public struct RateMeter: Sendable {
    @usableFromInline static let step: Duration = .milliseconds(100)
    @usableFromInline static let steps = 10
    /// One byte per step, in bit/s.
    @usableFromInline static let bitsPerStep = Int(8_000_000_000 / step.nanoseconds)
    @usableFromInline static let stepNanoseconds = step.nanoseconds

    @usableFromInline var buckets = [Int](repeating: 0, count: steps)
    @usableFromInline var position: Int64 = 0
    @usableFromInline var first: Int64?

    /// A meter without any bytes.
    @inlinable public init() {}

    /// Adds `bytes` at `now`.
    @inlinable public mutating func add(_ bytes: Int, at now: Instant) {
        move(to: now)
        buckets[index(position)] += bytes
    }

    /// The rate of the last second. In its first second the meter divides by its age, so that the rate is not too low.
    @inlinable public mutating func rate(at now: Instant) -> BitRate {
        move(to: now)
        guard let first else { return .zero }
        let age = min(max(position - first + 1, 2), Int64(Self.steps))
        return BitRate(bitsPerSecond: buckets.reduce(0, +) * Self.bitsPerStep / Int(age))
    }

    @usableFromInline mutating func move(to now: Instant) {
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

    @usableFromInline func index(_ position: Int64) -> Int {
        Int(((position % Int64(Self.steps)) + Int64(Self.steps)) % Int64(Self.steps))
    }
}
