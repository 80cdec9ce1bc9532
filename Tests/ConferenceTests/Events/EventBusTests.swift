import Basics
import Dispatch
import Testing

@testable import Conference

@Suite struct EventBusTests {
    private static func left(_ number: Int) -> ServerEvent.Happening {
        .overloadChanged(.init(level: number, refusesRooms: false))
    }

    private static func levels(_ page: EventBus.Page) -> [Int] {
        page.events.map { event in
            if case .overloadChanged(let overload) = event.event.happening { overload.level } else { -1 }
        }
    }

    @Test func `readers get pages in order, each from its own position`() {
        let bus = EventBus()
        #expect(bus.page(after: 0, limit: 10).events.isEmpty && bus.last == 0)
        for level in 1...25 { bus.publish(Self.left(level), room: nil) }
        let first = bus.page(after: 0, limit: 10)
        #expect(Self.levels(first) == Array(1...10) && first.events.map(\.event.sequence) == Array(1...10))
        #expect(Self.levels(bus.page(after: 20, limit: 10)) == Array(21...25))
        let none = bus.page(after: 25, limit: 10)
        #expect(none.events.isEmpty && !none.isLate && !none.isLast && bus.last == 25)
    }

    @Test func `a reader behind the memory is late, as is one ahead of the run`() {
        let bus = EventBus(capacity: 10)
        for level in 1...25 { bus.publish(Self.left(level), room: nil) }
        let late = bus.page(after: 14, limit: 100)
        #expect(late.isLate && Self.levels(late) == Array(16...25))
        let just = bus.page(after: 15, limit: 100)
        #expect(!just.isLate && Self.levels(just) == Array(16...25))
        #expect(bus.page(after: 26, limit: 1).isLate, "an id of another run, or made up")
        #expect(bus.page(after: .max - 1, limit: 1).isLate)
        #expect(bus.page(after: .max, limit: 1).isLate && bus.page(after: .min, limit: 1).isLate)
    }

    @Test func `kinds on request are kept only while somebody asks for them`() {
        let bus = EventBus()
        bus.publish(.speakerChanged("a"), room: "r")
        #expect(bus.last == 0)
        let wakes = Guarded(0)
        var subscription: EventBus.Subscription? = bus.subscribe(to: [.speakerChanged]) { wakes.withLock { $0 += 1 } }
        bus.publish(.speakerChanged("b"), room: "r")
        bus.publish(Self.left(1), room: nil)
        #expect(bus.last == 2 && wakes.withLock { $0 } == 1, "woken for its kinds only")
        withExtendedLifetime(subscription) {}
        subscription = nil
        bus.publish(.speakerChanged("c"), room: "r")
        #expect(bus.last == 2)
    }

    @Test func `after the end readers get what is left, and nothing is added`() {
        let bus = EventBus()
        bus.publish(Self.left(1), room: nil)
        let wakes = Guarded(0)
        let subscription = bus.subscribe(to: []) { wakes.withLock { $0 += 1 } }
        bus.close()
        bus.publish(Self.left(2), room: nil)
        let page = bus.page(after: 0, limit: 10)
        #expect(Self.levels(page) == [1] && page.isLast && wakes.withLock { $0 } == 1)
        #expect(bus.page(after: 1, limit: 10).isLast)
        withExtendedLifetime(subscription) {}
    }

    @Test func `threads that publish at once leave no gap`() {
        let bus = EventBus(capacity: 100)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for _ in 0..<500 { bus.publish(Self.left(thread), room: nil) }
        }
        #expect(bus.last == 4000)
        #expect(bus.page(after: 3900, limit: 1000).events.map(\.event.sequence) == Array(3901...4000))
        #expect(bus.samples.map(\.value).filter { $0 > 0 } == [4000])
    }
}
