/// An IPv4 or IPv6 address and a port, without any socket behind it.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    /// The IP address.
    public var ip: IPAddress
    /// The port, 0–65535; 0 where none is chosen yet.
    public var port: UInt16

    /// An address and a port.
    public init(_ ip: IPAddress, port: UInt16) {
        self.ip = ip
        self.port = port
    }

    /// Reads `192.0.2.1:50000` or `[2001:db8::1]:50000`; nil for anything else (names are not resolved).
    public init?(_ text: some StringProtocol) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard let ip = IPAddress(host) else { return nil }
        self.init(ip, port: port)
    }

    public var description: String {
        switch ip {
        case .v4: "\(ip):\(port)"
        case .v6: "[\(ip)]:\(port)"
        }
    }
}

/// An IP address of either family.
public enum IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// In host byte order: 127.0.0.1 is 0x7F000001.
    case v4(UInt32)
    /// The high and the low 64 bits in host byte order.
    case v6(UInt64, UInt64)

    /// Reads dotted IPv4 or RFC 4291 §2.2 IPv6 text (zone ids are refused); nil for anything else.
    public init?(_ text: some StringProtocol) {
        if let v4 = IPAddress.parseV4(text) {
            self = .v4(v4)
        } else if let (high, low) = IPAddress.parseV6(text) {
            self = .v6(high, low)
        } else {
            return nil
        }
    }

    /// `::ffff:a.b.c.d` becomes the IPv4 address that it carries; everything else stays.
    public var unmapped: IPAddress {
        if case .v6(0, let low) = self, low >> 32 == 0xFFFF { return .v4(UInt32(truncatingIfNeeded: low)) }
        return self
    }

    /// 0.0.0.0 or ::.
    public var isUnspecified: Bool { self == .v4(0) || self == .v6(0, 0) }
    /// 127.0.0.0/8 or ::1.
    public var isLoopback: Bool {
        switch self {
        case .v4(let value): value >> 24 == 127
        case .v6(let high, let low): high == 0 && low == 1
        }
    }

    public var description: String {
        switch self {
        case .v4(let value):
            return "\(value >> 24).\(value >> 16 & 255).\(value >> 8 & 255).\(value & 255)"
        case .v6(let high, let low):
            let groups = [high, low].flatMap { half in (0..<4).map { half >> (48 - 16 * UInt64($0)) & 0xFFFF } }
            // RFC 5952 §4.2: the longest run of at least two zero groups, the first of equals, is written as "::".
            var best = 0..<0
            var start = 0
            for index in 0...8 where index == 8 || groups[index] != 0 {
                if index - start > max(best.count, 1) { best = start..<index }
                start = index + 1
            }
            let hex = { (range: Range<Int>) in groups[range].map { String($0, radix: 16) }.joined(separator: ":") }
            return best.isEmpty ? hex(0..<8) : hex(0..<best.lowerBound) + "::" + hex(best.upperBound..<8)
        }
    }

    private static func parseV4(_ text: some StringProtocol) -> UInt32? {
        let parts = text.split(separator: ".", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy({ (48...57).contains($0) }),
                let byte = UInt8(part)
            else { return nil }
            value = value << 8 | UInt32(byte)
        }
        return value
    }

    private static func parseV6(_ text: some StringProtocol) -> (UInt64, UInt64)? {
        guard text.utf8.count <= 45, text.contains(":") else { return nil }
        let halves = String(text).split(separator: "::", maxSplits: 2, omittingEmptySubsequences: false)
        let text = String(text)
        guard halves.count <= 2, !text.hasPrefix(":") || text.hasPrefix("::"),
            !text.hasSuffix(":") || text.hasSuffix("::")
        else { return nil }
        func groups(_ half: Substring) -> [UInt16]? {
            if half.isEmpty { return [] }
            var result: [UInt16] = []
            let parts = half.split(separator: ":", omittingEmptySubsequences: false)
            for (index, part) in parts.enumerated() {
                if index == parts.count - 1, part.contains("."), let v4 = parseV4(part) {
                    result += [UInt16(v4 >> 16), UInt16(v4 & 0xFFFF)]
                } else {
                    guard (1...4).contains(part.utf8.count), let group = UInt16(part, radix: 16), part.first != "+"
                    else { return nil }
                    result.append(group)
                }
            }
            return result
        }
        guard let front = groups(halves[0]), let back = halves.count == 2 ? groups(halves[1]) : [] else { return nil }
        let missing = 8 - front.count - back.count
        guard halves.count == 2 ? missing >= 1 : missing == 0 else { return nil }
        let all = front + [UInt16](repeating: 0, count: missing) + back
        let half = { (slice: ArraySlice<UInt16>) in slice.reduce(UInt64(0)) { $0 << 16 | UInt64($1) } }
        return (half(all[0..<4]), half(all[4..<8]))
    }
}

/// The path of a datagram: transport, local address and remote address.
///
/// The sockets report a flow with each received datagram and take one with each datagram to send. For TCP, `connection`
/// distinguishes connections from the same address; it is 0 for UDP.
public struct Flow: Hashable, Sendable, CustomStringConvertible {
    /// How datagrams are carried: over UDP, or framed on a TCP connection (RFC 4571).
    public enum Transport: UInt8, Sendable { case udp, tcp }

    /// UDP or TCP.
    public var transport: Transport
    /// The local address that received the datagram or is to send it.
    public var local: SocketAddress
    /// The address of the other end.
    public var remote: SocketAddress
    /// 0 for UDP.
    public var connection: UInt32

    /// A flow of these parts.
    public init(_ transport: Transport, local: SocketAddress, remote: SocketAddress, connection: UInt32 = 0) {
        self.transport = transport
        self.local = local
        self.remote = remote
        self.connection = connection
    }

    public var description: String { "\(transport) \(local) <> \(remote)" }
}
