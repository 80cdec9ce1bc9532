import Basics
import Glibc

/// A UDP socket on loopback. Used by one thread at a time.
final class DatagramSocket {
    let descriptor: Int32
    let address: SocketAddress
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)

    init(binding ip: IPAddress, port: UInt16 = 0) throws(WireError) {
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let opened = socket(AF_INET, type, 0)
        guard opened >= 0 else { throw .system("open a UDP socket") }
        var size: Int32 = 4 << 20
        setsockopt(opened, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(opened, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        guard SocketAddress(ip, port: port).withSystemForm({ bind(opened, $0, $1) }) == 0 else {
            let error = WireError.system("bind UDP \(ip)")
            close(opened)
            throw error
        }
        descriptor = opened
        address = .bound(opened)
    }

    deinit {
        close(descriptor)
        buffer.deallocate()
    }

    /// Sends a datagram. Returns false when the system refused it.
    @discardableResult
    func send(_ bytes: UnsafeRawBufferPointer, to remote: SocketAddress) -> Bool {
        remote.withSystemForm { sendto(descriptor, bytes.baseAddress, bytes.count, 0, $0, $1) } == bytes.count
    }

    @discardableResult
    func send(_ bytes: [UInt8], to remote: SocketAddress) -> Bool { bytes.withUnsafeBytes { send($0, to: remote) } }

    /// Passes each waiting datagram to `body`, in memory that may be changed.
    func receive(_ body: (UnsafeMutableRawBufferPointer, SocketAddress) -> Void) {
        // The number is limited, so that the thread also gets to send.
        for _ in 0..<256 {
            var form = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let count = withUnsafeMutablePointer(to: &form) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(descriptor, buffer.baseAddress, buffer.count, 0, $0, &length)
                }
            }
            guard count >= 0 else { return }
            body(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), SocketAddress(form))
        }
    }

    func wait(_ timeout: Duration) { _ = waitFor(descriptor, timeout: timeout) }
}

/// Sends UDP datagrams with any source address and port. Needs CAP_NET_RAW.
final class ForgingSocket {
    private let descriptor: Int32

    init() throws(WireError) {
        descriptor = socket(AF_INET, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), Int32(IPPROTO_RAW))
        guard descriptor >= 0 else { throw .system("open a raw socket") }
    }

    deinit { close(descriptor) }

    func send(_ payload: [UInt8], from source: SocketAddress, to remote: SocketAddress) {
        var packet: [UInt8] = []
        packet.reserveCapacity(28 + payload.count)
        // IPv4 (RFC 791 §3.1): the system fills in length, identification and checksum.
        packet += [0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0]
        packet.append32(source.ip.bits)
        packet.append32(remote.ip.bits)
        // UDP (RFC 768): checksum 0 is none.
        packet.append16(source.port)
        packet.append16(remote.port)
        packet.append16(UInt16(clamping: 8 + payload.count))
        packet.append16(0)
        packet += payload
        packet.withUnsafeBytes { raw in
            _ = SocketAddress(remote.ip, port: 0).withSystemForm {
                sendto(descriptor, raw.baseAddress, raw.count, 0, $0, $1)
            }
        }
    }
}
