import Basics
import Glibc
import Synchronization
import Threads

/// A TCP server on loopback that answers each request of a text protocol, or nothing.
final class LoopbackServer: Sendable {
    struct Failure: Error {}

    let port: UInt16
    private let listener: Int32
    private let count = Atomic<Int>(0)

    var connections: Int { count.load(ordering: .sequentiallyConsistent) }

    init(_ answer: @escaping @Sendable (String) -> String?) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard isBound else { throw Failure() }
        (self.listener, port) = (listener, UInt16(bigEndian: address.sin_port))
        DedicatedThread.start("loopback") { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                if connection < 0 { return }
                count.add(1, ordering: .sequentiallyConsistent)
                var buffer = [UInt8](repeating: 0, count: 4096)
                while case let got = read(connection, &buffer, buffer.count), got > 0 {
                    guard let text = answer(String(decoding: buffer[..<got], as: UTF8.self)) else { continue }
                    _ = Array(text.utf8).withUnsafeBytes {
                        send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                }
                close(connection)
            }
        }
    }

    /// Ends the thread, which has the server until then.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }
}
