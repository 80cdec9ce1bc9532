/// A rate of bits per second.
///
/// Arithmetic saturates: rates are also computed from numbers that peers send, and no such number may trap.
public struct BitRate: Comparable, Hashable, Sendable, CustomStringConvertible {
    /// Bits per second.
    public var bitsPerSecond: Int

    /// A rate of `bitsPerSecond`.
    public init(bitsPerSecond: Int) {
        self.bitsPerSecond = bitsPerSecond
    }

    /// Nothing passes.
    public static let zero = BitRate(bitsPerSecond: 0)
    /// Thousands of bits per second.
    public static func kilobits(_ value: Int) -> BitRate {
        BitRate(bitsPerSecond: value.saturatingMultiplied(by: 1000))
    }
    /// Millions of bits per second.
    public static func megabits(_ value: Double) -> BitRate {
        BitRate(bitsPerSecond: Int(saturating: value * 1_000_000))
    }

    /// The rate at which `bytes` pass in `duration`; zero for an empty duration.
    public init(bytes: Int, in duration: Duration) {
        let seconds = duration.inSeconds
        self.init(bitsPerSecond: seconds > 0 ? Int(saturating: Double(bytes) * 8 / seconds) : 0)
    }

    @inlinable public static func < (lhs: BitRate, rhs: BitRate) -> Bool { lhs.bitsPerSecond < rhs.bitsPerSecond }
    /// The sum, saturating.
    public static func + (lhs: BitRate, rhs: BitRate) -> BitRate {
        BitRate(bitsPerSecond: lhs.bitsPerSecond.saturatingAdding(rhs.bitsPerSecond))
    }
    /// The difference, saturating; may be below zero.
    public static func - (lhs: BitRate, rhs: BitRate) -> BitRate {
        BitRate(bitsPerSecond: lhs.bitsPerSecond.saturatingSubtracting(rhs.bitsPerSecond))
    }
    /// The multiple, saturating.
    public static func * (lhs: BitRate, rhs: Double) -> BitRate {
        BitRate(bitsPerSecond: Int(saturating: Double(lhs.bitsPerSecond) * rhs))
    }

    /// How long this rate needs for `bytes`; an hour at rate zero.
    public func time(for bytes: Int) -> Duration {
        bitsPerSecond > 0
            ? .nanoseconds(Int64(saturating: Double(bytes) * 8e9 / Double(bitsPerSecond))) : .seconds(3600)
    }

    /// How many bytes pass in `duration`.
    public func bytes(in duration: Duration) -> Int { Int(saturating: Double(bitsPerSecond) / 8 * duration.inSeconds) }

    /// The notation of the configuration: `110k`, `1.5M`.
    public var description: String {
        switch bitsPerSecond {
        case 1_000_000...: "\(Double(bitsPerSecond / 10_000) / 100)M"
        case 1000...: "\(bitsPerSecond / 1000)k"
        default: "\(bitsPerSecond)"
        }
    }
}
