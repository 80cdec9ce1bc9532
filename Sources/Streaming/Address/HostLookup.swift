import Basics
import Glibc

/// Looks names up, as the system is configured.
enum HostLookup {
    /// The addresses of a name, the preferred one first (RFC 6724); empty: none is known. Blocks the thread, for some
    /// ten seconds where no name server answers.
    static func addresses(of name: String) -> [IPAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        var found: [IPAddress] = []
        var next = first
        while let entry = next {
            if let address = address(entry.pointee), !found.contains(address) { found.append(address) }
            next = entry.pointee.ai_next
        }
        return found
    }

    private static func address(_ entry: addrinfo) -> IPAddress? {
        guard let socket = entry.ai_addr else { return nil }
        let memory = UnsafeRawPointer(socket)
        switch entry.ai_family {
        case AF_INET:
            guard Int(entry.ai_addrlen) >= MemoryLayout<sockaddr_in>.size else { return nil }
            return .v4(UInt32(bigEndian: memory.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6:
            guard Int(entry.ai_addrlen) >= MemoryLayout<sockaddr_in6>.size else { return nil }
            let bytes = memory.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return withUnsafeBytes(of: bytes) { bytes in
                .v6(
                    UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                    UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
            }
        default: return nil
        }
    }
}
