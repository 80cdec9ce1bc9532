package import Basics
import Glibc
import NIOCore

/// The addresses at which other machines of the local network reach this one.
package enum LocalNetwork {
    /// Machines with bridges for containers have dozens.
    private static let most = 4

    /// Of the interfaces, the address of the default route first.
    package static func addresses() -> [IPAddress] {
        let devices = (try? System.enumerateDevices()) ?? []
        return choose(devices.compactMap { $0.address?.ipAddress.flatMap { IPAddress($0) } }, first: ofDefaultRoute())
    }

    /// IPv4 before IPv6; no loopback and no link-local addresses, which need a zone or come with a missing DHCP server.
    package static func choose(_ addresses: [IPAddress], first: IPAddress?) -> [IPAddress] {
        let usable = addresses.filter { !$0.isLoopback && !$0.isUnspecified && !isLinkLocal($0) }
        let sorted = usable.filter { $0 == first } + usable.filter(isVersion4) + usable.filter { !isVersion4($0) }
        var chosen: [IPAddress] = []
        for address in sorted where !chosen.contains(address) { chosen.append(address) }
        return Array(chosen.prefix(most))
    }

    private static func isVersion4(_ address: IPAddress) -> Bool { if case .v4 = address { true } else { false } }

    /// RFC 3927, RFC 4291 §2.5.6.
    private static func isLinkLocal(_ address: IPAddress) -> Bool {
        switch address {
        case .v4(let value): value >> 16 == 0xA9FE
        case .v6(let high, _): high >> 54 == 0x3FA
        }
    }

    /// The address that packets to the internet come from. Connecting a UDP socket sends none; nil without such a route.
    private static func ofDefaultRoute() -> IPAddress? {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // A `sockaddr_in` as Linux has it, byte by byte: in a release build its members belong to a module of NIO, which
        // cannot be imported. 192.0.2.1 is of no machine (RFC 5737), and 9 the port of discarded data.
        var address: [UInt8] = [0, 0, 0, 9, 192, 0, 2, 1] + [UInt8](repeating: 0, count: 8)
        let isConnected = address.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: sa_family_t(AF_INET), as: sa_family_t.self)
            guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            var size = socklen_t(bytes.count)
            return connect(descriptor, pointer, size) == 0 && getsockname(descriptor, pointer, &size) == 0
        }
        return isConnected ? .v4(address[4..<8].reduce(0) { $0 << 8 | UInt32($1) }) : nil
    }
}
