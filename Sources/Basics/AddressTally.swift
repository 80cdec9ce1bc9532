/// Counts connections, seats or half-open peers, in all and for each client address, with a cap on both.
///
/// An IPv6 client has a whole /64, so addresses count by `IPAddress.clientPrefix`.
public struct AddressTally: Sendable {
    /// Why one more is refused.
    public enum Refusal: String, Hashable, Sendable {
        /// The cap of all addresses together is reached.
        case total
        /// The cap of this address is reached.
        case address
    }

    /// The cap of all addresses together.
    public let limit: Int
    /// The cap of one address.
    public let limitPerAddress: Int
    /// The current count of all addresses together.
    public private(set) var count = 0
    /// Refusals since the start, by reason.
    public private(set) var refused: [Refusal: Int] = [:]
    private var counts: [IPAddress: Int] = [:]

    /// An empty tally with its two caps.
    public init(limit: Int, perAddress: Int) {
        self.limit = limit
        limitPerAddress = perAddress
    }

    /// The current count of `address`.
    public func count(of address: IPAddress) -> Int { counts[address.clientPrefix] ?? 0 }

    /// Returns why `add` would refuse one more of `address` now, without counting a refusal, so that the caller can
    /// make room first. A nil address is checked against the total only.
    public func refusal(of address: IPAddress?) -> Refusal? {
        if let address, count(of: address) >= limitPerAddress { return .address }
        return count >= limit ? .total : nil
    }

    /// Counts one more of `address`, or counts and returns the refusal.
    public mutating func add(_ address: IPAddress?) -> Refusal? {
        if let refusal = refusal(of: address) {
            refused[refusal, default: 0] += 1
            return refusal
        }
        count += 1
        if let key = address?.clientPrefix { counts[key, default: 0] += 1 }
        return nil
    }

    /// Counts a refusal that another rule made.
    public mutating func refuse(_ reason: Refusal) { refused[reason, default: 0] += 1 }

    /// Takes back one `add` that was not refused, of the same address.
    public mutating func remove(_ address: IPAddress?) {
        count = max(0, count - 1)
        guard let key = address?.clientPrefix, let own = counts[key] else { return }
        counts[key] = own > 1 ? own - 1 : nil
    }
}

extension IPAddress {
    /// The prefix that belongs to one client: the address itself for IPv4, its /64 for IPv6 (RFC 6177 gives a site at
    /// least that).
    public var clientPrefix: IPAddress {
        switch unmapped {
        case .v6(let high, _): .v6(high, 0)
        case let v4: v4
        }
    }
}
