import Basics
import Glibc

/// A failed socket operation of the benchmark.
struct WireError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }

    /// An error with the system's reason.
    static func system(_ what: String) -> WireError { WireError("\(what): \(String(cString: strerror(errno)))") }
}

extension SocketAddress {
    /// Calls `body` with the system's form of an IPv4 address; the benchmark uses IPv4 on loopback only.
    func withSystemForm<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var form = sockaddr_in()
        form.sin_family = sa_family_t(AF_INET)
        form.sin_port = port.bigEndian
        form.sin_addr.s_addr = ip.bits.bigEndian
        return withUnsafePointer(to: &form) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    init(_ form: sockaddr_in) {
        self.init(.v4(UInt32(bigEndian: form.sin_addr.s_addr)), port: UInt16(bigEndian: form.sin_port))
    }

    /// The address to which a socket is bound.
    static func bound(_ descriptor: Int32) -> SocketAddress {
        var form = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &form) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
        }
        return SocketAddress(form)
    }
}

extension IPAddress {
    /// The address as a number; 0 for IPv6.
    var bits: UInt32 {
        if case .v4(let value) = self { return value }
        return 0
    }

    /// A loopback address for a client: every address of 127.0.0.0/8 is this machine, and each client has its own.
    static func loopback(_ third: Int, _ fourth: Int) -> IPAddress {
        .v4(0x7F00_0000 | UInt32(truncatingIfNeeded: third & 255) << 8 | UInt32(truncatingIfNeeded: fourth & 255))
    }
}

/// Waits until a descriptor can be read (or written). Returns false after the timeout.
func waitFor(_ descriptor: Int32, write: Bool = false, timeout: Duration) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(write ? POLLOUT : POLLIN), revents: 0)
    return poll(&entry, 1, Int32(clamping: timeout.nanoseconds / 1_000_000)) > 0
}
