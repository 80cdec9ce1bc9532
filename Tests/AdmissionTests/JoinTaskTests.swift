import Admission
import Basics
import Testing

@Suite("What endpoints keep of their clients")
struct JoinTaskTests {
    @Test("each client has a number of its own, also after others have gone")
    func numbers() {
        let clients = OpenClients<String>()
        #expect(clients.add { "first \($0)" } == "first 0" && clients.add { "second \($0)" } == "second 1")
        clients.remove(0)
        clients.remove(7)
        #expect(clients.add { "third \($0)" } == "third 2")
        #expect(clients.all.sorted() == ["second 1", "third 2"] && clients.count == 2)
        #expect(clients[0] == nil && clients[2] == "third 2")
    }

    @Test("a join ends with its client, and nothing of it runs afterwards")
    func end() async {
        let joining = JoinTask()
        await joining.end()
        let other = JoinTask()
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let ran = Guarded<[Bool]>([])
        other.begin {
            begin.finish()
            try? await Task.sleep(for: .seconds(3600))
            ran.withLock { $0.append(Task.isCancelled) }
        }
        for await _ in begun {}
        await other.end()
        #expect(ran.withLock { $0 } == [true])
    }

    @Test("a join that begins when its client has gone is cancelled, and says how it ended")
    func late() async {
        let joining = JoinTask()
        joining.cancel()
        let (ends, end) = AsyncStream<Bool>.makeStream()
        joining.begin { end.yield(Task.isCancelled) }
        // Cancelled before or while it runs.
        #expect(await ends.first { _ in true } != nil)
        await joining.end()
    }
}
