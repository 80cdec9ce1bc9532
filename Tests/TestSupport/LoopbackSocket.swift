import Glibc

/// A TCP socket that is bound to a free port of loopback. Nothing listens there.
package struct LoopbackSocket: Sendable {
    /// The caller closes it.
    package let descriptor: Int32
    package let port: UInt16

    package init() {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = bind(descriptor, pointer, size)
                _ = getsockname(descriptor, pointer, &size)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
    }

    /// Ports that nobody listens on: the system gave them out, and they are free again.
    package static func freePorts(_ count: Int) -> [UInt16] {
        let sockets = (0..<count).map { _ in LoopbackSocket() }
        for socket in sockets { close(socket.descriptor) }
        return sockets.map(\.port)
    }
}
