import Basics
import Glibc
import Threads

/// A blocking TCP connection from any loopback address. Used by one thread at a time.
final class StreamSocket {
    let descriptor: Int32

    /// - Parameter source: an address of 127.0.0.0/8.
    init(to remote: SocketAddress, from source: IPAddress, timeout: Duration = .seconds(5)) throws(WireError) {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { throw .system("open a TCP socket") }
        do throws(WireError) {
            guard SocketAddress(source, port: 0).withSystemForm({ bind(descriptor, $0, $1) }) == 0 else {
                throw .system("bind to \(source)")
            }
            let result = remote.withSystemForm { connect(descriptor, $0, $1) }
            guard result == 0 || errno == EINPROGRESS else { throw .system("connect to \(remote)") }
            guard waitFor(descriptor, write: true, timeout: timeout) else {
                throw WireError("connect to \(remote): no answer")
            }
            var code: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
            guard code == 0 else {
                errno = code
                throw .system("connect to \(remote)")
            }
            var on: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit { close(descriptor) }

    func send(_ text: String, timeout: Duration = .seconds(5)) throws(WireError) {
        try send(Array(text.utf8), timeout: timeout)
    }

    /// Sends all bytes or throws.
    func send(_ bytes: [UInt8], timeout: Duration = .seconds(5)) throws(WireError) {
        var sent = 0
        let end = MonotonicClock.now() + timeout
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { raw in
                Glibc.send(descriptor, raw.baseAddress.map { $0 + sent }, raw.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                let left = end - MonotonicClock.now()
                guard left > .zero, waitFor(descriptor, write: true, timeout: left) else {
                    throw WireError("the other end takes nothing more")
                }
            } else if errno != EINTR {
                throw .system("send")
            }
        }
    }

    /// The next received bytes; empty after the timeout, nil when the other end has closed.
    func receive(timeout: Duration) -> [UInt8]? {
        guard waitFor(descriptor, timeout: timeout) else { return [] }
        return withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 8) { buffer -> [UInt8]? in
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return Array(buffer[..<count]) }
            return count < 0 && (errno == EAGAIN || errno == EINTR) ? [] : nil
        }
    }

    /// Closes with a reset, so that the other end notices at once and no port stays in TIME_WAIT.
    func abort() {
        var hard = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
    }
}
