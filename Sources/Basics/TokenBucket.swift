/// A bucket of tokens that refills at a steady rate: how often, or how much, something may happen.
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
    ///   - size: how many tokens wait at most, and so how many can be taken at once.
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

    /// Takes `amount` tokens whether the bucket holds them or not: for what was already spent. The debt is at most
    /// `size`. Returns whether the bucket held them.
    @discardableResult
    public mutating func spend(_ amount: Double, at now: Instant) -> Bool {
        refill(at: now)
        let isCovered = tokens >= amount
        tokens = max(-size, tokens - amount)
        return isCovered
    }

    /// Whether the bucket is in debt, after `spend`.
    public func isOverdrawn(at now: Instant) -> Bool { level(at: now) < 0 }

    /// How long it takes until `amount` tokens are there; zero if they are.
    public func wait(for amount: Double = 1, at now: Instant) -> Duration {
        let missing = min(amount, size) - level(at: now)
        return missing <= 0 ? .zero : .nanoseconds(Int64(saturating: (missing / rate * 1e9).rounded(.up)))
    }

    /// Whether nothing was taken for so long that the bucket is as good as new.
    public func isFull(at now: Instant) -> Bool { level(at: now) >= size }

    private func level(at now: Instant) -> Double { min(size, tokens + max(0, (now - last).inSeconds) * rate) }

    private mutating func refill(at now: Instant) {
        guard now > last else { return }
        tokens = level(at: now)
        last = now
    }
}
