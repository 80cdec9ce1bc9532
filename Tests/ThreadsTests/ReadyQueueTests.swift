import Basics
import Testing

@testable import Threads

@Suite("The queue of ready lanes")
struct ReadyQueueTests {
    @Test("the element with the earliest due time is next, in whatever order they were added")
    func urgency() {
        func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
        var ready = ReadyQueue<String>()
        ready.add("decode of before", due: at(14), home: nil)
        ready.add("decode", due: at(31), home: nil)
        ready.add("encode", due: at(20), home: nil)
        ready.add("compose", due: at(17), home: nil)
        let order = (0..<5).map { _ in ready.take(for: 0) }
        #expect(order == ["decode of before", "compose", "encode", "decode", nil])
    }

    @Test("among equally urgent elements a thread takes the one that it ran last")
    func homes() {
        let now = Instant(nanoseconds: 1_000_000_000)
        var ready = ReadyQueue<String>()
        ready.add("H.264", due: now, home: 1)
        ready.add("VP8", due: now + .microseconds(40), home: 0)
        ready.add("later", due: now + .milliseconds(5), home: 0)
        let order = [ready.take(for: 0), ready.take(for: 0), ready.take(for: 1)]
        #expect(order == ["VP8", "H.264", "later"], "another's rather than none, and nothing before its time")
    }

    @Test("an element that may not run now stays, and the one behind it is taken")
    func held() {
        let now = Instant(nanoseconds: 1_000_000_000)
        var ready = ReadyQueue<String>()
        ready.add("slow", due: now, home: 0)
        ready.add("quick", due: now + .milliseconds(9), home: nil)
        let order = [ready.take(for: 0) { $0 != "slow" }, ready.take(for: 0) { $0 != "slow" }, ready.take(for: 0)]
        #expect(order == ["quick", nil, "slow"])
    }
}
