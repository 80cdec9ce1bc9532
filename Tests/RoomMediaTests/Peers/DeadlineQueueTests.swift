import Basics
import Testing

@testable import RoomMedia

@Suite("DeadlineQueue")
struct DeadlineQueueTests {
    private final class Peer {
        var deadline: Instant?
    }

    private func at(_ time: Int64) -> Instant { Instant(nanoseconds: time) }

    @Test("due elements come in the order of their deadlines, each once")
    func order() {
        var queue = DeadlineQueue<Peer>()
        let peers = (0..<5).map { _ in Peer() }
        for (peer, time) in zip(peers, [30, 10, 50, 20, 40] as [Int64]) { queue.set(peer, at(time)) }
        #expect(queue.next == at(10) && queue.takeDue(at: at(9)) == nil)
        #expect(queue.takeDue(at: at(25)) === peers[1])
        #expect(queue.takeDue(at: at(25)) === peers[3])
        #expect(queue.takeDue(at: at(25)) == nil)
        queue.set(peers[2], at(5))
        queue.set(peers[0], nil)
        queue.set(peers[0], nil)
        #expect(queue.takeDue(at: at(100)) === peers[2])
        #expect(queue.takeDue(at: at(100)) === peers[4])
        #expect(queue.takeDue(at: at(100)) == nil && queue.next == nil && queue.count == 0)
    }

    @Test("agrees with a plain list after any operations")
    func model() {
        var random = SeededRandom(seed: 11)
        var queue = DeadlineQueue<Peer>()
        let peers = (0..<60).map { _ in Peer() }
        for _ in 0..<20_000 {
            let peer = peers[Int.random(in: 0..<peers.count, using: &random)]
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                peer.deadline = nil
                queue.set(peer, nil)
            case 1:
                let now = at(Int64.random(in: 0..<500, using: &random))
                let earliest = peers.compactMap(\.deadline).min()
                let due = queue.takeDue(at: now)
                #expect(due?.deadline == earliest.flatMap { $0 <= now ? $0 : nil })
                due?.deadline = nil
            default:
                peer.deadline = at(Int64.random(in: 0..<1000, using: &random))
                queue.set(peer, peer.deadline)
            }
            #expect(queue.next == peers.compactMap(\.deadline).min())
            #expect(queue.count == peers.count { $0.deadline != nil })
        }
    }
}
