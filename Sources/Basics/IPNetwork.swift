/// An address and the length of its prefix: `10.0.0.0/8`, `2001:db8::/32` (RFC 4632 §3.1, RFC 4291 §2.3).
public struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
    /// The network's address: all bits behind the prefix are 0.
    public let address: IPAddress
    /// The number of bits in the network's prefix.
    public let prefixLength: Int

    /// - Parameter prefixLength: 0 to 32 (IPv4) or 128 (IPv6); values outside are clamped. Bits of `address` behind the
    ///   prefix are dropped.
    public init(_ address: IPAddress, prefixLength: Int) {
        switch address {
        case .v4(let value):
            self.prefixLength = min(max(prefixLength, 0), 32)
            self.address = .v4(value & IPNetwork.mask(self.prefixLength))
        case .v6(let high, let low):
            self.prefixLength = min(max(prefixLength, 0), 128)
            self.address = .v6(
                high & IPNetwork.mask(min(self.prefixLength, 64)), low & IPNetwork.mask(max(self.prefixLength - 64, 0)))
        }
    }

    /// Reads `10.0.0.0/8`, `fd00::/8`, or an address alone, which is a network of one; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ IPAddress($0) }) else { return nil }
        var length = address.bitCount
        if parts.count == 2 {
            guard (1...3).contains(parts[1].utf8.count), parts[1].utf8.allSatisfy({ (48...57).contains($0) }),
                let given = Int(parts[1]), given <= length
            else { return nil }
            length = given
        }
        // An IPv4-mapped network (`::ffff:10.0.0.0/104`) is the IPv4 network.
        if case .v4 = address.unmapped, address.bitCount == 128, length >= 96 {
            self.init(address.unmapped, prefixLength: length - 96)
        } else {
            self.init(address, prefixLength: length)
        }
    }

    /// Whether `other` is in the network. An IPv4-mapped address counts as the IPv4 address that it carries.
    public func contains(_ other: IPAddress) -> Bool {
        let other = other.unmapped
        guard other.bitCount == address.bitCount else { return false }
        return IPNetwork(other, prefixLength: prefixLength).address == address
    }

    public var description: String { "\(address)/\(prefixLength)" }

    /// The highest `length` bits.
    private static func mask<Bits: FixedWidthInteger & UnsignedInteger>(_ length: Int) -> Bits {
        length == 0 ? 0 : Bits.max << (Bits.bitWidth - length)
    }
}

extension IPAddress {
    fileprivate var bitCount: Int {
        switch self {
        case .v4: 32
        case .v6: 128
        }
    }

    /// Whether the address is valid only within one machine, site or provider: loopback (RFC 1122 §3.2.1.3),
    /// private (RFC 1918), shared (RFC 6598), link-local (RFC 3927, RFC 4291 §2.5.6) and unique local (RFC 4193).
    public var isLocalScope: Bool { IPAddress.localScope.contains { $0.contains(self) } }

    private static let localScope = [
        IPNetwork(.v4(0x7F00_0000), prefixLength: 8), IPNetwork(.v4(0x0A00_0000), prefixLength: 8),
        IPNetwork(.v4(0xAC10_0000), prefixLength: 12), IPNetwork(.v4(0xC0A8_0000), prefixLength: 16),
        IPNetwork(.v4(0x6440_0000), prefixLength: 10), IPNetwork(.v4(0xA9FE_0000), prefixLength: 16),
        IPNetwork(.v6(0, 1), prefixLength: 128), IPNetwork(.v6(0xFC00_0000_0000_0000, 0), prefixLength: 7),
        IPNetwork(.v6(0xFE80_0000_0000_0000, 0), prefixLength: 10),
    ]
}
