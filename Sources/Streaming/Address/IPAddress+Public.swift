import Basics

extension IPAddress {
    /// Whether the address can belong to a server on the Internet: neither of one machine, site or provider, nor
    /// reserved, multicast or a carrier of such an IPv4 address (RFC 6890, the registries of special-purpose addresses).
    var isPublic: Bool {
        if isLocalScope || isUnspecified || Self.special.contains(where: { $0.contains(self) }) { return false }
        return carried?.isPublic ?? true
    }

    /// The IPv4 address in a translated (RFC 6052 §2.1) or 6to4 (RFC 3056 §2) IPv6 address.
    private var carried: IPAddress? {
        guard case .v6(let high, let low) = unmapped else { return nil }
        if high == 0x0064_FF9B_0000_0000 { return .v4(UInt32(truncatingIfNeeded: low)) }
        if high >> 48 == 0x2002 { return .v4(UInt32(truncatingIfNeeded: high >> 16)) }
        return nil
    }

    private static let special = [
        "0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
        "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "::/96", "64:ff9b:1::/48", "100::/64", "2001::/23",
        "2001:db8::/32", "fec0::/10", "ff00::/8",
    ].compactMap { IPNetwork($0) }
}
