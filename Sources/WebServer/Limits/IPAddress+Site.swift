package import Basics

extension IPAddress {
    /// The addresses that one customer may have: an IPv4 address, a /48 of IPv6 (RFC 6177).
    package var site: IPAddress {
        switch unmapped {
        case .v6(let high, _): .v6(high & 0xFFFF_FFFF_FFFF_0000, 0)
        case let v4: v4
        }
    }
}
