public import Basics
import CSockets
import Glibc

extension SocketAddress {
    var family: Int32 {
        switch ip {
        case .v4: AF_INET
        case .v6: AF_INET6
        }
    }

    /// Converts the system's address; nil for a family other than IPv4 and IPv6. IPv4-mapped addresses become IPv4.
    init?(_ storage: UnsafePointer<sockaddr_storage>) {
        switch Int32(storage.pointee.ss_family) {
        case AF_INET:
            self = UnsafeRawPointer(storage).withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                SocketAddress(
                    .v4(UInt32(bigEndian: $0.pointee.sin_addr.s_addr)), port: UInt16(bigEndian: $0.pointee.sin_port))
            }
        case AF_INET6:
            let address = UnsafeRawPointer(storage).loadUnaligned(as: sockaddr_in6.self)
            let ip = withUnsafeBytes(of: address.sin6_addr) { IPAddress(networkBytes: $0) }
            guard let ip else { return nil }
            self.init(ip.unmapped, port: UInt16(bigEndian: address.sin6_port))
        default:
            return nil
        }
    }

    /// Writes the system's form for a socket of `family` (an IPv4 address becomes an IPv4-mapped one on an IPv6
    /// socket). Returns its length.
    func write(to storage: UnsafeMutablePointer<sockaddr_storage>, family: Int32) -> socklen_t {
        storage.pointee = sockaddr_storage()
        let raw = UnsafeMutableRawPointer(storage)
        switch (ip, family) {
        case (.v4(let value), AF_INET):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = value.bigEndian
            raw.storeBytes(of: address, as: sockaddr_in.self)
            return socklen_t(MemoryLayout<sockaddr_in>.size)
        default:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            let (high, low): (UInt64, UInt64) =
                switch ip {
                case .v4(let value): (0, 0xFFFF_0000_0000 | UInt64(value))
                case .v6(let high, let low): (high, low)
                }
            withUnsafeMutableBytes(of: &address.sin6_addr) {
                $0.storeBytes(of: high.bigEndian, toByteOffset: 0, as: UInt64.self)
                $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            raw.storeBytes(of: address, as: sockaddr_in6.self)
            return socklen_t(MemoryLayout<sockaddr_in6>.size)
        }
    }
}

extension IPAddress {
    /// Four or sixteen bytes in network order; nil for any other length.
    init?(networkBytes bytes: UnsafeRawBufferPointer) {
        switch bytes.count {
        case 4: self = .v4(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
        case 16:
            self = .v6(
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        default: return nil
        }
    }

    /// Writes the address in network order and returns its length; 0 for the unspecified address.
    func write(to bytes: UnsafeMutablePointer<UInt8>) -> Int32 {
        if isUnspecified { return 0 }
        let raw = UnsafeMutableRawPointer(bytes)
        switch self {
        case .v4(let value):
            raw.storeBytes(of: value.bigEndian, as: UInt32.self)
            return 4
        case .v6(let high, let low):
            raw.storeBytes(of: high.bigEndian, as: UInt64.self)
            raw.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            return 16
        }
    }
}

/// The addresses of this machine's interfaces that are up, with loopback, without link-local IPv6 (which needs a zone).
public func interfaceAddresses() -> [IPAddress] {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    var result: [IPAddress] = []
    var next = first
    while let entry = next {
        next = entry.pointee.ifa_next
        guard let address = entry.pointee.ifa_addr, entry.pointee.ifa_flags & UInt32(IFF_UP) != 0 else { continue }
        var storage = sockaddr_storage()
        let length =
            address.pointee.sa_family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
        guard [AF_INET, AF_INET6].contains(Int32(address.pointee.sa_family)) else { continue }
        memcpy(&storage, address, length)
        guard let ip = SocketAddress(&storage)?.ip else { continue }
        if case .v6(let high, _) = ip, high >> 54 == 0x3FA { continue }
        if !result.contains(ip) { result.append(ip) }
    }
    return result
}
