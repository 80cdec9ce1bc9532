/// How many of a thing there are, in all and for each client address, with a cap on both: connections, seats, half-open
/// peers.
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

    /// The most in all.
    public let limit: Int
    /// The most of one address.
    public let limitPerAddress: Int
    /// How many there are now.
    public private(set) var count = 0
    /// How many were refused since the start, by reason.
    public private(set) var refused: [Refusal: Int] = [:]
    private var counts: [IPAddress: Int] = [:]

    /// An empty tally; either number is a most.
    public init(limit: Int, perAddress: Int) {
        self.limit = limit
        limitPerAddress = perAddress
    }

    /// How many `address` has now.
    public func count(of address: IPAddress) -> Int { counts[address.clientPrefix] ?? 0 }

    /// What stands against one more of `address` now. nil counts in all only. Asking refuses nothing: whoever can make
    /// room asks first.
    public func refusal(of address: IPAddress?) -> Refusal? {
        if let address, count(of: address) >= limitPerAddress { return .address }
        return count >= limit ? .total : nil
    }

    /// Counts one more of `address`, or says why not, and counts that.
    public mutating func add(_ address: IPAddress?) -> Refusal? {
        if let refusal = refusal(of: address) {
            refused[refusal, default: 0] += 1
            return refusal
        }
        count += 1
        if let key = address?.clientPrefix { counts[key, default: 0] += 1 }
        return nil
    }

    /// Takes back one `add` that was not refused, of the same address.
    public mutating func remove(_ address: IPAddress?) {
        count = max(0, count - 1)
        guard let key = address?.clientPrefix, let own = counts[key] else { return }
        counts[key] = own > 1 ? own - 1 : nil
    }
}

extension IPAddress {
    /// What one client has: the address itself for IPv4, its /64 for IPv6 (RFC 6177 gives a site at least that).
    public var clientPrefix: IPAddress {
        switch unmapped {
        case .v6(let high, _): .v6(high, 0)
        case let v4: v4
        }
    }
}
