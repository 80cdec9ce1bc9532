import Testing

@testable import Basics

@Suite("A guarded value")
struct GuardedTests {
    private struct Refusal: Error, Equatable { var number: Int }

    @Test("steps of many tasks at once never overlap")
    func exclusive() async {
        let guarded = Guarded((now: 0, most: 0, all: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<2000 {
                        guarded.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.all + 1) }
                        guarded.withLock { $0.now -= 1 }
                    }
                }
            }
        }
        let end = guarded.withLock { $0 }
        #expect(end.now == 0 && end.all == 16_000 && end.most <= 8)
    }

    @Test("an error leaves the lock open and keeps its type")
    func errors() {
        let guarded = Guarded(1)
        #expect(throws: Refusal(number: 1)) {
            try guarded.withLock { (value: inout Int) throws(Refusal) in
                defer { value += 1 }
                throw Refusal(number: value)
            }
        }
        #expect(guarded.withLock { $0 } == 2)
    }
}
