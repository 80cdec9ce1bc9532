import Basics
import CSandbox
import Codecs
import Glibc
import Streaming

/// Sockets for the process of an input, which may make none: connected by the server to the address that it checked.
enum SourceConnection {
    /// How often a wait looks at the interrupt, in milliseconds.
    private static let period: Int32 = 100

    /// A TCP connection.
    static func tcp(_ address: IPAddress, port: Int, _ interrupt: ReadInterrupt) throws -> Int32 {
        let descriptor = sandbox_socket(address.description, Int32(port), 0, 0)
        guard descriptor >= 0 else { throw unreachable(errno) }
        do {
            while true {
                if interrupt.isCancelled { throw DemuxError.cancelled }
                if interrupt.mustStop { throw DemuxError.timedOut }
                var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                guard poll(&polled, 1, period) > 0 else { continue }
                let code = sandbox_socket_error(descriptor)
                guard code == 0 else { throw unreachable(code) }
                return descriptor
            }
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// A UDP socket that sends to this address only, and hears nobody else.
    static func udp(_ address: IPAddress, port: Int) throws -> Int32 {
        let descriptor = sandbox_socket(address.description, Int32(port), 1, 0)
        guard descriptor >= 0 else { throw unreachable(errno) }
        return descriptor
    }

    /// A UDP socket that waits on a port.
    static func listener(_ host: String, port: Int) throws -> Int32 {
        let descriptor = sandbox_socket(host, Int32(port), 1, 1)
        guard descriptor >= 0 else {
            throw DemuxError.failed("port \(port) cannot be used: \(String(cString: strerror(errno)))")
        }
        return descriptor
    }

    private static func unreachable(_ code: Int32) -> DemuxError {
        .failed("the server cannot be reached: \(String(cString: strerror(code)))")
    }
}
