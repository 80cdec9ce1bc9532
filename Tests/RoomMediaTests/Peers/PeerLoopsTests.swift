import Basics
import Sockets
import Testing

@testable import RoomMedia

@Suite("PeerLoops")
struct PeerLoopsTests {
    private func loops(_ count: Int) throws -> PeerLoops {
        let events = PeerLoopEvents(
            media: { _, _, _ in }, ended: { _, _, _ in }, link: { _, _ in }, chat: { _, _ in })
        return try PeerLoops(
            MediaLoopConfiguration(udp: [SocketAddress(.v4(0x7F00_0001), port: 0)]), loops: count, events: events,
            meters: StageMeters())
    }

    @Test("a participant gets the loop with the fewest participants, and keeps it")
    func spread() throws {
        let loops = try loops(3)
        var counts = [0, 0, 0]
        for number in 0..<30 { counts[loops.place("p\(number)").index] += 1 }
        #expect(counts == [10, 10, 10])
        #expect(loops.host(of: "p7") === loops.place("p7"))
        #expect(loops.host(of: "nobody") == nil)
    }

    @Test("a participant that leaves frees its place for the next")
    func leave() throws {
        let loops = try loops(2)
        let first = loops.place("a")
        _ = loops.place("b")
        loops.leave("a")
        loops.leave("a")
        #expect(loops.host(of: "a") == nil)
        #expect(loops.place("c") === first)
        #expect(loops.place("d").index != loops.place("e").index, "the count of those who left twice is right")
    }

    @Test("work that is handed to a loop before the end runs, and none after it", .timeLimit(.minutes(1)))
    func end() async throws {
        let loops = try loops(2)
        loops.start()
        let host = loops.place("a")
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let isTaken = loops.run(on: host) { _, _ in done.resume() }
            #expect(isTaken)
            loops.stop()
        }
        #expect(!loops.run(on: host) { _, _ in Issue.record("it has stopped") })
    }
}
