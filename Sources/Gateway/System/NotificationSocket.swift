import FoundationEssentials
import Glibc

/// The socket of a service manager that takes sd_notify(3)'s datagrams.
final class NotificationSocket: Sendable {
    private let descriptor: CInt
    private let address: sockaddr_un
    private let addressLength: socklen_t

    /// - Parameter path: the value of `NOTIFY_SOCKET`: an absolute path, or `@` and a name in the abstract namespace.
    ///   Nil for others, such as `vsock:`, and where the system gives no socket.
    init?(_ path: String) {
        var bytes = Array(path.utf8)
        guard bytes.count > 1, bytes[0] == UInt8(ascii: "/") || bytes[0] == UInt8(ascii: "@") else { return nil }
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { place in
            // One byte of the path remains 0, which ends it.
            guard bytes.count < place.count else { return false }
            place.copyBytes(from: bytes)
            return true
        }
        guard fits else { return nil }
        self.address = address
        // The name of an abstract socket ends with the address; without a path's final 0 the system finds the path too.
        addressLength = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Sends one datagram, and never waits. Returns 0, or errno where the receiver is gone or takes no more.
    @discardableResult
    func send(_ lines: [String]) -> CInt {
        let bytes = Array(lines.joined(separator: "\n").utf8)
        var address = address
        let sent = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                sendto(
                    descriptor, bytes, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL), pointer,
                    addressLength)
            }
        }
        return sent == bytes.count ? 0 : errno
    }
}
