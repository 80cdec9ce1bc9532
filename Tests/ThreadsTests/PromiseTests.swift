import Basics
import TestSupport
import Testing
import Threads

@Suite("A value that comes once, and work that takes so long at most")
struct PromiseTests {
    private let long = Duration.seconds(3600)

    @Test("the first value counts, before and after somebody waits for it")
    func first() async {
        let early = Promise<Int>()
        #expect(early.isPending && early.fulfil(1) && !early.isPending && !early.fulfil(2))
        #expect(await early.value(within: .zero) == 1)
        let late = Promise<Int>()
        async let value = late.value(within: long)
        // Whether it waits by now or not yet.
        #expect(late.fulfil(3) && !late.fulfil(4))
        #expect(await value == 3)
    }

    @Test("nothing is taken after the limit, or once the wait was abandoned")
    func over() async {
        let late = Promise<Int>()
        #expect(await late.value(within: .milliseconds(1)) == nil)
        #expect(!late.isPending && !late.fulfil(1))
        let abandoned = Promise<Int>()
        abandoned.abandon()
        #expect(!abandoned.fulfil(1))
        #expect(await abandoned.value(within: long) == nil)
    }

    @Test("of many threads one gives the value")
    func race() async {
        for _ in 0..<100 {
            let promise = Promise<Int>()
            let winners = await withTaskGroup(of: Int?.self) { group in
                for number in 0..<4 { group.addTask { promise.fulfil(number) ? number : nil } }
                return await group.reduce(into: [Int]()) { if let winner = $1 { $0.append(winner) } }
            }
            #expect(winners.count == 1)
            #expect(await promise.value(within: long) == winners.first)
        }
    }

    @Test("work that ends in time returns its value; work that does not is cancelled, and not waited for")
    func limit() async {
        #expect(await atMost(long) { 7 } == 7)
        let end = Promise<Bool>()
        let never = Promise<Void>()
        let value: Int? = await atMost(.milliseconds(1)) {
            // It does not hear of its cancellation before somebody ends its wait.
            await never.value(within: .seconds(3600))
            end.fulfil(Task.isCancelled)
            return 1
        }
        #expect(value == nil && end.isPending)
        never.fulfil(())
        #expect(await end.value(within: long) == true)
    }

    @Test("who is cancelled waits no longer")
    func cancelled() async {
        let begun = Promise<Void>()
        let end = Promise<Void>()
        let caller = Task {
            await atMost(.seconds(3600)) {
                begun.fulfil(())
                await end.value(within: .seconds(3600))
                return 1
            }
        }
        await begun.value(within: long)
        caller.cancel()
        #expect(await caller.value == nil)
        end.fulfil(())
    }
}
