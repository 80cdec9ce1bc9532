import Basics
import Glibc
import Testing

@testable import Sockets

@Suite("Datagrams that the system drops")
struct UnreadDatagramsTests {
    @Test("are counted once the loop reads again")
    func counted() throws {
        let loopback = SocketAddress(.v4(0x7F00_0001), port: 0)
        let counters = LoopCounters()
        let receiver = try UDPSocket(binding: loopback, counters: counters)
        // A small buffer, so that few datagrams fill it.
        var size: Int32 = 256 << 10
        setsockopt(receiver.descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        let sender = try UDPSocket(binding: loopback)
        var remote = sockaddr_in()
        remote.sin_family = sa_family_t(AF_INET)
        remote.sin_port = receiver.address.port.bigEndian
        remote.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let bytes = [UInt8](repeating: 7, count: 1000)
        var sent = 0
        for _ in 0..<4000 {
            let result = withUnsafePointer(to: &remote) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(sender.descriptor, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if result == bytes.count { sent += 1 }
        }
        var read = 0
        while true {
            let count = receiver.receive { _, _ in read += 1 }
            if count == 0 { break }
        }
        let unread = counters.statistics.unread
        #expect(unread > 1000)
        #expect(read + unread == sent)
    }
}
