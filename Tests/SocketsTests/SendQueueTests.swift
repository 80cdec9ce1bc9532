import Basics
import Testing

@testable import Sockets

@Suite struct SendQueueTests {
    private func flow(_ port: UInt16) -> Flow {
        Flow(.udp, local: SocketAddress(.v4(0x7F00_0001), port: 1), remote: SocketAddress(.v4(0x7F00_0001), port: port))
    }

    private func queue(_ packets: [(size: Int, port: UInt16)]) -> SendQueue {
        let queue = SendQueue(capacity: 10_000)
        for packet in packets {
            let bytes = [UInt8](repeating: 1, count: packet.size)
            bytes.withUnsafeBytes { _ = queue.append($0, flow: flow(packet.port)) }
        }
        return queue
    }

    @Test("packets of equal size to one peer form a run, whose last may be shorter")
    func run() {
        #expect(queue([(100, 5), (100, 5), (60, 5), (60, 5)]).run(from: 0, limit: 32) == 3)
    }

    @Test("another peer's packet ends the run")
    func otherPeer() {
        #expect(queue([(100, 5), (100, 6)]).run(from: 0, limit: 32) == 1)
    }

    @Test("a longer packet ends the run, because the first one's length is the segment size")
    func longer() {
        #expect(queue([(100, 5), (101, 5)]).run(from: 0, limit: 32) == 1)
    }

    @Test("a full queue refuses a datagram and keeps its contents")
    func full() {
        let queue = queue([(9_990, 5)])
        let added = [UInt8](repeating: 0, count: 11).withUnsafeBytes { queue.append($0, flow: flow(5)) }
        #expect(!added)
        #expect(queue.count == 1)
    }
}
