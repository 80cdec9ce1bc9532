package import Basics
package import Peer
import Sockets

/// The addresses at which peers reach the server: the candidates of every answer.
package enum HostAddresses {
    /// The addresses of this machine's active interfaces, without link-local ones; loopback only where there is no
    /// other.
    static func interfaces() -> [IPAddress] {
        let found = interfaceAddresses().filter { !isLinkLocal($0) }
        let outside = found.filter { !$0.isLoopback }
        // IPv4 first: most peers can use it.
        let sorted =
            outside.filter { if case .v4 = $0 { true } else { false } }
            + outside.filter { if case .v6 = $0 { true } else { false } }
        return sorted + found.filter { $0 == .v4(0x7F00_0001) }
    }

    /// IPv4 (RFC 3927); link-local IPv6 is not among the interfaces' addresses.
    private static func isLinkLocal(_ ip: IPAddress) -> Bool {
        if case .v4(let value) = ip { value >> 16 == 0xA9FE } else { false }
    }

    /// The server's candidates: each announced address (or each interface's) with each port that is bound for its
    /// family.
    package static func candidates(announce: [IPAddress], udp: [SocketAddress], tcp: [SocketAddress]) -> [Candidate] {
        let interfaces = announce.isEmpty ? interfaces() : announce
        var candidates: [Candidate] = []
        for (transport, bound) in [(Flow.Transport.udp, udp), (.tcp, tcp)] {
            var preference = 0
            var seen: Set<SocketAddress> = []
            for socket in bound {
                let reachable =
                    announce.isEmpty && !socket.ip.isUnspecified
                    ? [socket.ip] : interfaces.filter { serves(socket.ip, $0) }
                for ip in reachable where seen.insert(SocketAddress(ip, port: socket.port)).inserted {
                    candidates.append(
                        .host(SocketAddress(ip, port: socket.port), transport: transport, preference: preference))
                    preference += 1
                }
            }
        }
        return candidates
    }

    /// Whether a socket bound to `socket` receives datagrams for `ip`. Every socket of the family of an announced
    /// address does (the server may be behind a NAT), and `::` takes IPv4 too.
    private static func serves(_ socket: IPAddress, _ ip: IPAddress) -> Bool {
        switch (socket, ip) {
        case (.v4, .v4), (.v6, .v6): true
        case (.v6, .v4): socket.isUnspecified
        case (.v4, .v6): false
        }
    }
}
