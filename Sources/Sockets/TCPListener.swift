import Basics
import CSockets
import Glibc

/// One listening TCP socket.
final class TCPListener {
    let descriptor: Int32
    let address: SocketAddress

    init(binding wanted: SocketAddress) throws(NetworkError) {
        let what = "bind TCP \(wanted)"
        let fd = socket(wanted.family, tcpSocketType, 0)
        guard fd >= 0 else { throw NetworkError(what, code: errno) }
        var on: Int32 = 1
        // A restart need not wait for the last run's connections to time out.
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
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

    /// The next connection that waits, with both its addresses; nil when there is none.
    func accept() -> (descriptor: Int32, local: SocketAddress, remote: SocketAddress)? {
        var storage = sockaddr_storage()
        let fd = net_accept(descriptor, &storage)
        guard fd >= 0 else { return nil }
        guard let remote = SocketAddress(&storage), let local = localAddress(of: fd) else {
            close(fd)
            return nil
        }
        return (fd, local, remote)
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
