import Basics
import Foundation
import TestSupport
import Testing

@testable import Admission
@testable import Outbound
@testable import Settings
@testable import WebServer

/// One webhook in simulated time, with a receiver that answers by a closure.
private final class World {
    let scratch = ScratchDirectory()
    let webhook: Webhook
    var limits = WebhookQueue.Limits()
    private(set) var delivery: WebhookDelivery
    private(set) var time = WebhookTime(now: Instant(nanoseconds: 1_000_000_000), wall: 1_767_000_000_000)
    private(set) var next = 1
    /// The ids that the receiver got, with the seconds since the start.
    private(set) var received: [(id: String, at: Double)] = []
    private(set) var news: [WebhookDelivery.News] = []
    var answer: (String) -> PostAnswer = { _ in .status(200) }
    /// Pauses are their mean unless a test changes it.
    var random: () -> Double = { 0.5 }

    init(_ change: (inout WebhookQueue.Limits) -> Void = { _ in }) throws {
        let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        webhook = Webhook(url: "https://a.example/", host: "a.example", secrets: [secret])
        change(&limits)
        delivery = WebhookDelivery(webhook, WebhookQueue(scratch.file("q"), limits: limits), random: { 0.5 })
    }

    var elapsed: Double { (time.now - Instant(nanoseconds: 1_000_000_000)).inSeconds }
    var ids: [Int] { received.map { Int($0.id.dropFirst(2)) ?? 0 } }

    func add(_ count: Int = 1, isReplaceable: Bool = false, bytes: Int = 2) {
        let events = (0..<count).map { index in
            WebhookEvent(
                id: "e-\(next + index)", time: time.wall, isReplaceable: isReplaceable,
                body: [UInt8](repeating: UInt8(ascii: "x"), count: bytes))
        }
        next += count
        delivery.add(events, at: time)
        turn()
    }

    /// What the thread does after it was woken, until nothing is left to do now.
    func turn() {
        while let attempt = delivery.nextAttempt(at: time) {
            received.append((attempt.id, elapsed))
            delivery.answered(answer(attempt.id), to: attempt.id, at: time)
        }
        delivery.settle(at: time)
        news += delivery.takeNews()
    }

    func run(until limit: Duration) {
        let end = time.later(limit)
        while delivery.nextDeadline <= end.now {
            time = time.later(max(delivery.nextDeadline - time.now, .zero))
            turn()
        }
        time = time.later(end.now - time.now)
    }

    /// As after `kill -9`: what the object had in memory is gone.
    func restart() {
        delivery = WebhookDelivery(webhook, WebhookQueue(scratch.file("q"), limits: limits), random: random)
        turn()
    }
}

@Suite struct WebhookDeliveryTests {
    @Test func `events go one at a time, in order`() throws {
        let world = try World()
        var waiting = 0
        world.answer = { _ in
            waiting = world.delivery.statistics.queued
            #expect(world.delivery.nextAttempt(at: world.time) == nil, "one is being sent")
            return .status(204)
        }
        world.add(5)
        world.add()
        #expect(world.ids == [1, 2, 3, 4, 5, 6] && waiting == 1)
        #expect(world.delivery.statistics.delivered == 6 && world.delivery.statistics.queued == 0)
        #expect(world.delivery.nextDeadline == .distantFuture && world.delivery.isDone && world.news.isEmpty)
        world.restart()
        #expect(world.ids.count == 6, "nothing is sent again")
    }

    @Test func `an event is sent again each ten seconds until it is too old`() throws {
        let world = try World()
        world.answer = { _ in .failure("cannot be reached") }
        world.add()
        world.run(until: .seconds(23 * 3600))
        let times = world.received.map { Int($0.at) }
        #expect(times.prefix(7) == [0, 2, 7, 17, 27, 37, 47] && world.ids.allSatisfy { $0 == 1 })
        #expect(world.news == [.fails("cannot be reached")], "told once")
        #expect(world.delivery.statistics.failure == "cannot be reached")
        world.run(until: .seconds(3600))
        #expect(world.received.last?.at == 86400, "the last attempt is at the end of its time")
        #expect(world.news.last == .dropped(1, .expired))
        #expect(world.delivery.statistics.dropped == [.expired: 1] && world.delivery.statistics.queued == 0)
    }

    @Test(arguments: [60, 15 * 60, 5 * 3600])
    func `a receiver that comes back gets its queue within 13 seconds`(outage: Int) throws {
        let world = try World()
        var generator = SeededRandom(seed: UInt64(outage))
        world.random = { Double.random(in: 0...1, using: &generator) }
        world.restart()
        world.answer = { _ in world.elapsed < Double(outage) ? .failure("cannot be reached") : .status(200) }
        world.add(469)
        world.run(until: .seconds(outage + 13))
        #expect(world.delivery.statistics.delivered == 469 && world.delivery.statistics.queued == 0)
        #expect(world.delivery.statistics.failure == nil)
        #expect(world.received.count <= 469 + outage / 7, "one small request each 7.5 s at most")
        let pauses = zip(world.received.dropFirst(2), world.received.dropFirst(3)).map { $1.at - $0.at }.filter {
            $0 > 0
        }
        #expect(Set(pauses).count > pauses.count / 2, "not all at once")
    }

    @Test func `a request sends what waits at once, whatever it waits for`() throws {
        let world = try World()
        var next = PostAnswer.status(503, retryAfter: .seconds(3600))
        world.answer = { _ in next }
        world.add(3)
        world.run(until: .seconds(60))
        #expect(world.ids == [1])
        next = .status(410)
        world.delivery.retry()
        world.turn()
        world.run(until: .seconds(60))
        #expect(world.ids == [1, 1] && world.delivery.statistics.isOff)
        next = .status(200)
        world.delivery.retry()
        world.turn()
        #expect(world.ids == [1, 1, 1, 2, 3] && !world.delivery.statistics.isOff)
        world.delivery.retry()
        world.turn()
        #expect(world.ids.count == 5 && world.delivery.isDone, "nothing waits")
    }

    @Test func `a request while an event is being sent sends it once`() throws {
        let world = try World()
        world.answer = { _ in
            world.delivery.retry()
            #expect(world.delivery.nextAttempt(at: world.time) == nil)
            return .status(200)
        }
        world.add(2)
        #expect(world.ids == [1, 2])
    }

    @Test func `after a failure the same event comes first, and later ones wait`() throws {
        let world = try World()
        world.answer = { _ in world.elapsed < 10 ? .status(500) : .status(200) }
        world.add(3)
        world.run(until: .seconds(200))
        #expect(world.ids == [1, 1, 1, 1, 2, 3])
        #expect(world.news == [.fails("status 500"), .works(after: 3)])
        #expect(world.delivery.statistics.failed == 3)
        world.answer = { _ in .status(400) }
        world.add()
        world.run(until: .seconds(3))
        #expect(world.received.suffix(2).map { Int($0.at) } == [200, 202], "the pauses begin again")
    }

    @Test(arguments: [429, 503])
    func `Retry-After is kept`(status: Int) throws {
        let world = try World()
        world.answer = { _ in world.received.count == 1 ? .status(status, retryAfter: .seconds(77)) : .status(200) }
        world.add()
        world.run(until: .seconds(100))
        #expect(world.received.map { Int($0.at) } == [0, 77])
        world.answer = { _ in world.received.count < 5 ? .status(status, retryAfter: .zero) : .status(200) }
        world.add()
        world.run(until: .seconds(10))
        #expect(world.received.suffix(3).map { Int($0.at) } == [100, 101, 102])
        world.answer = { _ in .status(500, retryAfter: .seconds(77)) }
        world.add()
        world.run(until: .seconds(3))
        #expect(world.received.suffix(2).map { Int($0.at) } == [110, 112], "only with 429 and 503")
    }

    @Test func `410 ends all attempts until the next start, and the events wait`() throws {
        let world = try World()
        world.answer = { _ in .status(410) }
        world.add(2)
        world.run(until: .seconds(3600))
        world.add()
        #expect(world.ids == [1] && world.news == [.isOff])
        #expect(world.delivery.statistics.isOff && world.delivery.statistics.queued == 3 && world.delivery.isDone)
        world.answer = { _ in .status(200) }
        world.restart()
        #expect(world.ids == [1, 1, 2, 3])
    }

    @Test func `a redirect is a failure that says what to change`() throws {
        let world = try World()
        world.answer = { _ in .status(302) }
        world.add()
        #expect(world.news == [.fails("status 302: redirects are not followed, set the URL that it leads to")])
    }

    @Test func `what the receiver has not taken is sent after a crash, and nothing twice`() throws {
        let world = try World()
        world.answer = { id in id == "e-7" ? .failure("no answer") : .status(200) }
        world.add(10)
        world.answer = { _ in .status(200) }
        world.restart()
        #expect(world.ids == Array(1...7) + Array(7...10))
        world.restart()
        #expect(world.ids.count == 11)
    }

    @Test func `an answer that comes after its turn changes nothing`() throws {
        let world = try World()
        world.answer = { _ in .failure("x") }
        world.add(2)
        world.delivery.answered(.status(200), to: "e-1", at: world.time)
        world.delivery.answered(.status(410), to: "e-9", at: world.time)
        #expect(world.delivery.statistics.delivered == 0 && world.delivery.statistics.queued == 2)
    }

    @Test func `where too many wait, updates are dropped first, and the oldest first`() throws {
        let world = try World { $0.file = 100_000 }
        world.answer = { _ in .failure("x") }
        world.add(10, bytes: 1000)
        world.add(40, isReplaceable: true, bytes: 1000)
        world.add(45, bytes: 1000)
        #expect(world.delivery.statistics.dropped.isEmpty && world.delivery.statistics.queued == 95)
        world.add(10, bytes: 1000)
        let dropped = try #require(world.delivery.statistics.dropped[.full])
        #expect((11...20).contains(dropped) && world.delivery.statistics.bytes < 100_000)
        world.restart()
        world.answer = { _ in .status(200) }
        world.run(until: .seconds(5))
        let expected = Array(1...10) + Array((11 + dropped)...105)
        #expect(Array(world.ids.suffix(expected.count)) == expected, "the crash changes nothing")
        // Without updates the oldest go, but for the one that is being sent.
        world.answer = { _ in .failure("x") }
        world.add(120, bytes: 1000)
        #expect(world.delivery.statistics.queued < 100 && world.delivery.statistics.bytes < 100_000)
        world.answer = { _ in .status(200) }
        world.run(until: .seconds(100))
        #expect(world.ids.last == 225 && Set(world.ids.suffix(50)) == Set(176...225))
    }

    @Test func `the event that is being sent is not dropped`() throws {
        let world = try World { $0.file = 10_000 }
        world.answer = { _ in
            if world.next == 2 { world.add(20, bytes: 1000) }
            return .status(200)
        }
        world.add(bytes: 1000)
        #expect(world.ids.first == 1 && world.ids.last == 21 && world.delivery.statistics.delivered == world.ids.count)
        #expect(world.ids == world.ids.sorted() && world.ids.count < 15)
    }

    @Test func `the file does not grow for ever while something waits`() throws {
        let world = try World { $0.waste = 10_000 }
        func size() throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: world.scratch.file("q"))[.size] as? Int)
        }
        var largest = 0
        for _ in 0..<200 {
            // The last of each three stays, and is taken at the next time.
            world.answer = { id in id.hasSuffix("7") && world.received.count % 2 == 0 ? .failure("x") : .status(200) }
            world.add(3, bytes: 500)
            world.run(until: .seconds(6))
            largest = max(largest, try size())
        }
        #expect(largest < 50_000, "of 300,000 bytes in all")
        world.answer = { _ in .status(200) }
        world.run(until: .seconds(7200))
        world.turn()
        #expect(try size() == 0 && world.delivery.statistics.delivered == 600)
        #expect(Array(Set(world.ids)).sorted() == Array(1...600))
    }

    @Test func `without a disk events wait in memory, within a bound`() throws {
        let world = try World()
        var limits = WebhookQueue.Limits()
        limits.memory = 10_000
        let queue = WebhookQueue("/dev/full", limits: limits)
        let delivery = WebhookDelivery(world.webhook, queue)
        let events = (1...30).map { number in
            WebhookEvent(
                id: "e-\(number)", time: world.time.wall, isReplaceable: number <= 10,
                body: .init(repeating: 1, count: 1000))
        }
        delivery.add(events, at: world.time)
        delivery.settle(at: world.time)
        #expect(delivery.statistics.isInMemory && delivery.statistics.queued == 9)
        #expect(delivery.statistics.dropped == [.full: 21])
        guard case .diskFails(let fault)? = delivery.takeNews().last else { Issue.record("not told"); return }
        #expect(fault.hasPrefix("/dev/full cannot be written: "))
        var ids: [String] = []
        while let attempt = delivery.nextAttempt(at: world.time) {
            ids.append(attempt.id)
            delivery.answered(.status(200), to: attempt.id, at: world.time)
        }
        #expect(ids == (22...30).map { "e-\($0)" } && delivery.statistics.bytes == 0)
        delivery.settle(at: world.time.later(.seconds(60)))
        delivery.close(at: world.time)
    }
}
