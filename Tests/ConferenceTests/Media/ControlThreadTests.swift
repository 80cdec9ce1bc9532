import Basics
import Testing
import Threads

@testable import Conference

@Suite("ControlThread")
struct ControlThreadTests {
    @Test("of work under one key only the newest waits, and relayed messages are dropped where too much waits")
    func control() async {
        let control = ControlThread()
        let seen = Guarded<[Int]>([])
        for number in 0..<1000 { control.post(.link("a")) { seen.withLock { $0.append(number) } } }
        control.post(.link("b")) { seen.withLock { $0.append(-1) } }
        #expect(control.backlog == BacklogStatistics(waiting: 2, peak: 2))
        for _ in 0..<2 * ControlThread.limit { control.postIfRoom {} }
        #expect(control.backlog.waiting == ControlThread.limit && control.dropped == ControlThread.limit + 2)
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            control.post { done.resume() }
            control.start { _ in }
        }
        #expect(seen.withLock { $0 } == [999, -1])
        control.stop()
    }

    @Test("deferred work runs at its time, the soonest first")
    func timers() async {
        let control = ControlThread()
        let seen = Guarded<[String]>([])
        let start = MonotonicClock.now()
        control.start { _ in }
        control.post(at: start - .seconds(1)) { seen.withLock { $0.append("overdue") } }
        let end: Instant = await withCheckedContinuation { done in
            control.post(at: start + .milliseconds(60)) { done.resume(returning: MonotonicClock.now()) }
            control.post(at: start + .milliseconds(40)) { seen.withLock { $0.append("second") } }
            control.post(at: start + .milliseconds(20)) { seen.withLock { $0.append("first") } }
            control.post(at: start + .milliseconds(40)) { seen.withLock { $0.append("third") } }
        }
        #expect(seen.withLock { $0 } == ["overdue", "first", "second", "third"])
        #expect(end - start >= .milliseconds(60))
        control.stop()
    }
}
