/// A token bucket: it refills at a steady rate and limits how often, or how much, something may happen.
public struct TokenBucket: Hashable, Sendable {
    /// Tokens per second.
    public let rate: Double
    /// The most tokens that the bucket holds.
    public let size: Double
    private var tokens: Double
    private var last: Instant

    /// A full bucket.
    ///
    /// - Parameters:
    ///   - rate: tokens per second; more than 0.
    ///   - size: the most tokens in the bucket, and so the largest burst.
    public init(rate: Double, size: Double, at now: Instant) {
        self.rate = rate
        self.size = size
        tokens = size
        last = now
    }

    /// Takes `amount` tokens if the bucket holds them; otherwise takes none and returns false.
    public mutating func take(_ amount: Double = 1, at now: Instant) -> Bool {
        refill(at: now)
        guard tokens >= amount else { return false }
        tokens -= amount
        return true
    }

    /// Takes `amount` tokens even if the bucket does not hold them, for costs that were already incurred. Returns
    /// whether the bucket held them.
    ///
    /// - Parameter maxDebt: the most tokens that the bucket can lack; nil: `size`.
    @discardableResult
    public mutating func spend(_ amount: Double, maxDebt: Double? = nil, at now: Instant) -> Bool {
        refill(at: now)
        let isCovered = tokens >= amount
        tokens = max(-(maxDebt ?? size), tokens - amount)
        return isCovered
    }

    /// Whether the bucket is in debt, after `spend`.
    public func isOverdrawn(at now: Instant) -> Bool { level(at: now) < 0 }

    /// How long it takes until the bucket holds `amount` tokens; zero if it does now.
    public func wait(for amount: Double = 1, at now: Instant) -> Duration {
        let missing = min(amount, size) - level(at: now)
        return missing <= 0 ? .zero : .nanoseconds(Int64(saturating: (missing / rate * 1e9).rounded(.up)))
    }

    /// Whether the bucket has refilled completely, so that a new bucket would be equal.
    public func isFull(at now: Instant) -> Bool { level(at: now) >= size }

    private func level(at now: Instant) -> Double { min(size, tokens + max(0, (now - last).inSeconds) * rate) }

    private mutating func refill(at now: Instant) {
        guard now > last else { return }
        tokens = level(at: now)
        last = now
    }
}
