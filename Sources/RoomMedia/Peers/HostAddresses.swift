import Basics
import Glibc
import Peer

/// Where peers can reach us: the candidates of every answer.
package enum HostAddresses {
    /// The addresses of this machine's interfaces that are up; loopback only where there is no other.
    static func interfaces() -> [IPAddress] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var found: [IPAddress] = []
        var entry = list
        while let current = entry {
            defer { entry = current.pointee.ifa_next }
            guard current.pointee.ifa_flags & UInt32(IFF_UP) != 0, let address = current.pointee.ifa_addr,
                let ip = ip(address), !isLinkLocal(ip), !found.contains(ip)
            else { continue }
            found.append(ip)
        }
        let outside = found.filter { !$0.isLoopback }
        // IPv4 first: it is what most peers can use.
        let sorted =
            outside.filter { if case .v4 = $0 { true } else { false } }
            + outside.filter { if case .v6 = $0 { true } else { false } }
        return sorted + found.filter { $0.isLoopback && $0 == .v4(0x7F00_0001) }
    }

    private static func ip(_ address: UnsafeMutablePointer<sockaddr>) -> IPAddress? {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                .v4(UInt32(bigEndian: $0.pointee.sin_addr.s_addr))
            }
        case AF_INET6:
            return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin6_addr) { bytes in
                    let half = { (range: Range<Int>) in range.reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[$1]) } }
                    return .v6(half(0..<8), half(8..<16))
                }
            }
        default: return nil
        }
    }

    private static func isLinkLocal(_ ip: IPAddress) -> Bool {
        switch ip {
        case .v4(let value): value >> 16 == 0xA9FE
        case .v6(let high, _): high >> 54 == 0xFE80 >> 6
        }
    }

    /// Our candidates: each announced address (or each interface's) with each port that is bound for its family.
    package static func candidates(announce: [IPAddress], udp: [SocketAddress], tcp: [SocketAddress]) -> [Candidate] {
        let interfaces = announce.isEmpty ? interfaces() : announce
        var candidates: [Candidate] = []
        for (transport, bound) in [(Flow.Transport.udp, udp), (.tcp, tcp)] {
            var preference = 0
            var seen: Set<SocketAddress> = []
            for socket in bound {
                let reachable =
                    announce.isEmpty && !socket.ip.isUnspecified ? [socket.ip] : interfaces.filter { serves(socket.ip, $0) }
                for ip in reachable where seen.insert(SocketAddress(ip, port: socket.port)).inserted {
                    candidates.append(.host(SocketAddress(ip, port: socket.port), transport: transport, preference: preference))
                    preference += 1
                }
            }
        }
        return candidates
    }

    /// An announced address (behind a NAT, say) is served by every socket of its family; `::` takes IPv4 too.
    private static func serves(_ socket: IPAddress, _ ip: IPAddress) -> Bool {
        switch (socket, ip) {
        case (.v4, .v4), (.v6, .v6): true
        case (.v6, .v4): socket.isUnspecified
        case (.v4, .v6): false
        }
    }
}
