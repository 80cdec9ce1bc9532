import Basics
import CSockets
import Glibc

/// One listening TCP socket.
final class TCPListener {
    /// Seconds that the system waits for a connection's first byte (TCP_DEFER_ACCEPT) before it reports the connection
    /// without one.
    static let longestSilence: Int32 = 5
    /// Bytes of a connection's send buffer: 5 Mbit/s over a round trip of 400 ms. Linux doubles the number for its own
    /// bookkeeping.
    static let sendBuffer: Int32 = 256 << 10

    let descriptor: Int32
    let address: SocketAddress

    init(binding wanted: SocketAddress) throws(NetworkError) {
        let what = "bind TCP \(wanted)"
        let fd = socket(wanted.family, tcpSocketType, 0)
        guard fd >= 0 else { throw NetworkError(what, code: errno) }
        var on: Int32 = 1
        // With SO_REUSEADDR a restart need not wait until the last run's connections time out.
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        // A client's first check follows its handshake at once, so the system holds back connections without data.
        var silence = TCPListener.longestSilence
        setsockopt(fd, Int32(IPPROTO_TCP), TCP_DEFER_ACCEPT, &silence, socklen_t(MemoryLayout<Int32>.size))
        // Connections inherit both options. Without a limit the system would let each send buffer grow to megabytes for
        // a receiver that does not read.
        setsockopt(fd, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        var room = TCPListener.sendBuffer
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<Int32>.size))
        if wanted.family == AF_INET6 {
            setsockopt(fd, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        var storage = sockaddr_storage()
        let length = wanted.write(to: &storage, family: wanted.family)
        let result = withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(fd, $0, length) }
        }
        guard result == 0, listen(fd, 128) == 0 else {
            let code = errno
            close(fd)
            throw NetworkError(what, code: code)
        }
        descriptor = fd
        address = localAddress(of: fd) ?? wanted
    }

    deinit { close(descriptor) }

    enum Accepted {
        case connection(descriptor: Int32, local: SocketAddress, remote: SocketAddress)
        /// The connection ended before it was accepted.
        case gone
        /// The system has no descriptor or memory for the connection. It stays in the backlog, and the listener stays
        /// readable.
        case exhausted
        case nothing
    }

    /// Accepts the next waiting connection.
    func accept() -> Accepted {
        var storage = sockaddr_storage()
        let fd = net_accept(descriptor, &storage)
        guard fd >= 0 else {
            switch errno {
            case EAGAIN: return .nothing
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
            // accept(2) reports errors of the new connection here.
            default: return .gone
            }
        }
        // A connection that was closed without data ends here: with TCP_DEFER_ACCEPT its first bytes, or its end, are
        // already there.
        var first: UInt8 = 0
        guard recv(fd, &first, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) != 0, let remote = SocketAddress(&storage),
            let local = localAddress(of: fd)
        else {
            close(fd)
            return .gone
        }
        return .connection(descriptor: fd, local: local, remote: remote)
    }
}

let tcpSocketType = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

func localAddress(of descriptor: Int32) -> SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &storage) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    return result == 0 ? SocketAddress(&storage) : nil
}
