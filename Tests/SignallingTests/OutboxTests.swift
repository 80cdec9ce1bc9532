import NIOCore
import Testing

@testable import Admission
@testable import Signalling
@testable import WebServer

@Suite struct OutboxTests {
    private func drain(_ outbox: inout Outbox) -> [Outbox.Message] {
        var all: [Outbox.Message] = []
        while let message = outbox.next() { all.append(message) }
        return all
    }

    @Test func `messages leave in the order in which they were added`() {
        var outbox = Outbox()
        for text in ["a", "b", "c"] { _ = outbox.add(.text(text)) }
        let all = drain(&outbox)
        #expect(all == [.text("a"), .text("b"), .text("c")])
        #expect(outbox.count == 0 && outbox.bytes == 0)
    }

    @Test func `of each kind of state only the newest waits`() {
        var outbox = Outbox()
        _ = outbox.add(.text("people 1"), .participants)
        _ = outbox.add(.text("tiles 1"), .tiles)
        _ = outbox.add(.text("chat"))
        _ = outbox.add(.text("people 2"), .participants)
        let left = drain(&outbox)
        #expect(left == [.text("tiles 1"), .text("chat"), .text("people 2")])
        _ = outbox.add(.text("people 3"), .participants)
        let next = drain(&outbox)
        #expect(next == [.text("people 3")], "one that is gone is not replaced")
    }

    @Test func `a change that replaces a waiting one becomes the full state`() {
        var outbox = Outbox()
        _ = outbox.add(.text("list 1"), .participants, fullState: { .text("list 1") })
        _ = outbox.next()
        _ = outbox.add(.text("change 2"), .participants, fullState: { .text("list 2") })
        _ = outbox.add(.text("change 3"), .participants, fullState: { .text("list 3") })
        let whole = drain(&outbox)
        #expect(whole == [.text("list 3")])
        _ = outbox.add(.text("change 4"), .participants, fullState: { .text("list 4") })
        let change = drain(&outbox)
        #expect(change == [.text("change 4")])
    }

    @Test func `a client that reads nothing costs a bounded amount of memory`() {
        var outbox = Outbox()
        let list = String(repeating: "x", count: 10_000)
        let taken = (0..<500).map { _ in outbox.add(.text(list), .participants) }
        #expect(!taken.contains(false))
        #expect(outbox.count == 1 && outbox.bytes == 10_000)
    }

    @Test func `too many bytes or messages are refused`() {
        var large = Outbox()
        let text = String(repeating: "x", count: 100_000)
        let taken = (0..<11).map { _ in large.add(.text(text)) }
        #expect(taken == Array(repeating: true, count: 10) + [false])
        var many = Outbox()
        let pings = (0...Outbox.maxMessages).map { _ in many.add(.ping) }
        #expect(pings.firstIndex(of: false) == Outbox.maxMessages)
    }

    @Test func `no message follows a close`() {
        var outbox = Outbox()
        _ = outbox.add(.close(1000, "bye"))
        _ = outbox.add(.text("more"))
        let left = drain(&outbox)
        #expect(left == [.close(1000, "bye")])
    }

    @Test func `a reader whose queue never empties keeps no place of what was replaced`() {
        var outbox = Outbox()
        _ = outbox.add(.text("first"))
        for number in 0..<100_000 {
            let isTaken = outbox.add(.text("people \(number)"), .participants)
            #expect(isTaken)
            if number % 1000 == 0 {
                _ = outbox.add(.text("chat \(number)"))
                _ = outbox.next()
            }
        }
        #expect(outbox.slots <= 200, "\(outbox.slots)")
        let all = drain(&outbox)
        #expect(all.last == .text("people 99999") && all.count(where: { $0 == .text("people 99999") }) == 1)
    }
}

extension Outbox.Message {
    fileprivate static func text(_ text: String) -> Outbox.Message { .text(ByteBuffer(string: text)) }
}
