import Basics
import Testing

@testable import Threads

@Suite("A mailbox")
struct MailboxTests {
    @Test("one take returns all messages in the order in which they were posted")
    func order() {
        let box = Mailbox<Never, Int>()
        #expect(box.post(1), "the box was empty")
        #expect(!box.post(2))
        let batch = box.take()
        #expect(batch.messages == [1, 2])
        #expect(!batch.isLast)
        #expect(box.take().messages.isEmpty)
        #expect(box.post(3), "the box is empty again")
    }

    @Test("of the messages with one key the newest waits, at the place of the first")
    func keys() {
        let box = Mailbox<String, Int>()
        box.post(1, replacing: "a")
        box.post(2)
        box.post(3, replacing: "a")
        box.post(4, replacing: "b")
        #expect(box.take().messages == [3, 2, 4])
        box.post(5, replacing: "a")
        #expect(box.take().messages == [5], "nothing remembers a place that is gone")
    }

    @Test("messages beyond a limit are dropped and counted; those without a limit are still accepted")
    func limit() {
        let box = Mailbox<Never, Int>()
        for number in 0..<5 { box.post(number, upTo: 2) }
        box.post(9)
        #expect(box.dropped == 3)
        #expect(box.take().messages == [0, 1, 9])
    }

    @Test("the peak of waiting messages is kept")
    func backlog() {
        let box = Mailbox<Never, Int>()
        for number in 0..<5 { box.post(number) }
        _ = box.take()
        box.post(1)
        #expect(box.backlog == BacklogStatistics(waiting: 1, peak: 5))
    }

    @Test("after the stop no message is accepted, and the last batch is marked as the last")
    func stop() {
        let box = Mailbox<Never, Int>()
        box.post(1)
        box.stop()
        #expect(!box.post(2))
        let batch = box.take()
        #expect(batch.messages == [1] && batch.isLast)
        let empty = box.wait(until: .distantPast)
        #expect(empty?.messages.isEmpty == true && empty?.isLast == true)
    }

    @Test("a waiting thread gets the next message, and nil at the deadline")
    func wait() async {
        let box = Mailbox<Never, Int>()
        #expect(box.wait(until: .distantPast) == nil)
        let taken = await withCheckedContinuation { (done: CheckedContinuation<[Int]?, Never>) in
            DedicatedThread.start("taker") {
                done.resume(returning: box.wait(until: MonotonicClock.now() + .seconds(60))?.messages)
            }
            box.post(7)
        }
        #expect(taken == [7])
    }

    @Test("no message is lost or duplicated between several posting threads and one that takes")
    func contention() async {
        let box = Mailbox<Never, Int>()
        let posters = 4, each = 2000
        let seen = await withCheckedContinuation { (done: CheckedContinuation<[Int], Never>) in
            DedicatedThread.start("taker") {
                var all: [Int] = []
                while all.count < posters * each, let batch = box.wait(until: MonotonicClock.now() + .seconds(60)) {
                    all += batch.messages
                }
                done.resume(returning: all)
            }
            for poster in 0..<posters {
                DedicatedThread.start("poster") { for number in 0..<each { box.post(poster * each + number) } }
            }
        }
        #expect(seen.sorted() == Array(0..<posters * each))
        for poster in 0..<posters {
            let own = seen.filter { $0 / each == poster }
            #expect(own == own.sorted(), "each poster's own come in its order")
        }
    }
}
