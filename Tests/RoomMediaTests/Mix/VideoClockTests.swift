import Basics
import Synchronization
import Testing

@testable import RoomMedia

@Suite("VideoClock")
struct VideoClockTests {
    private let start = Instant(nanoseconds: 5_003_000_000)

    /// A picture clock that the test runs instead of its thread.
    private final class SteppedClock {
        let overload = OverloadState()
        let clock: VideoClock
        private let noted = Guarded<[String: [Instant]]>([:])
        private(set) var now: Instant

        init(at now: Instant) {
            self.now = now
            clock = VideoClock(overload: overload)
        }

        func add(_ room: String, _ framesPerSecond: Int) {
            clock.add(room, framesPerSecond: framesPerSecond, at: now) { [noted] tick in
                noted.withLock { $0[room, default: []].append(tick) }
            }
        }

        /// Runs until `end`; each time the thread wakes a little late. Returns false once it is to end.
        @discardableResult
        func run(until end: Instant, late: (Int) -> Duration = { _ in .zero }) -> Bool {
            var turn = 0
            while true {
                guard let wake = clock.run(at: now) else { return false }
                if wake > end {
                    now = end
                    return true
                }
                now = wake + late(turn)
                turn += 1
            }
        }

        func ticks(_ room: String) -> [Instant] { noted.withLock { $0[room] ?? [] } }
    }

    @Test("Each room ticks at whole multiples of its own frame time, and the ticks do not drift")
    func rates() {
        let stepped = SteppedClock(at: start)
        for rate in [10, 25, 30, 60] { stepped.add("\(rate)", rate) }
        var random = SeededRandom(seed: 2)
        stepped.run(until: start + .seconds(60)) { _ in .microseconds(Int.random(in: 0...9000, using: &random)) }
        for rate in [10, 25, 30, 60] as [Int64] {
            let ticks = stepped.ticks("\(rate)")
            let first = start.ticks(at: rate) + 1
            #expect(ticks == (0..<Int64(ticks.count)).map { Instant(ticks: first + $0, at: rate) })
            #expect((60 * rate - 1...60 * rate + 1).contains(Int64(ticks.count)), "\(ticks.count) at \(rate)")
        }
        #expect(stepped.clock.skipped.load(ordering: .relaxed) == 0)
    }

    @Test("A missed tick is counted and never caught up")
    func skips() {
        let stepped = SteppedClock(at: start)
        stepped.add("a", 25)
        stepped.run(until: start + .seconds(1))
        let before = stepped.ticks("a").count
        stepped.run(until: start + .seconds(2)) { $0 == 0 ? .milliseconds(500) : .zero }
        let skipped = stepped.clock.skipped.load(ordering: .relaxed)
        #expect((12...13).contains(skipped), "\(skipped)")
        #expect(stepped.ticks("a").count - before + skipped == 25)
        #expect(zip(stepped.ticks("a"), stepped.ticks("a").dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test("Under overload every other tick is left out, and the remaining ones are the even ones")
    func halfRate() {
        let stepped = SteppedClock(at: start)
        stepped.add("a", 30)
        var now = start
        while stepped.overload.level < .halfRate {
            now += .milliseconds(500)
            stepped.overload.ticked(isLate: true)
            _ = stepped.overload.evaluate(at: now)
        }
        stepped.run(until: start + .seconds(10))
        let ticks = stepped.ticks("a")
        #expect((149...151).contains(ticks.count))
        #expect(ticks.allSatisfy { ($0 + .nanoseconds(1)).ticks(at: 30) % 2 == 0 })
        #expect(stepped.clock.skipped.load(ordering: .relaxed) == 0, "that is no tick that was missed")
    }

    @Test("A room ticks at each rate of its views, once for each")
    func severalRates() {
        let stepped = SteppedClock(at: start)
        for rate in [30, 10, 30] { stepped.add("a", rate) }
        stepped.run(until: start + .seconds(10))
        let ticks = stepped.ticks("a")
        #expect((399...401).contains(ticks.count), "\(ticks.count)")
        #expect((299...301).contains(Set(ticks).count), "every third tick is one of both")
    }

    @Test("A removed room ticks no more, another rate applies at once, and nothing ticks after the stop")
    func changes() {
        let stepped = SteppedClock(at: start)
        stepped.add("a", 30)
        stepped.add("b", 30)
        stepped.run(until: start + .seconds(1))
        stepped.clock.remove("a")
        stepped.add("b", 10)
        stepped.clock.remove("b", except: [10])
        let (a, b) = (stepped.ticks("a").count, stepped.ticks("b").count)
        stepped.run(until: start + .seconds(2))
        #expect(stepped.ticks("a").count == a && stepped.ticks("b").count - b == 10)
        #expect(stepped.clock.run(at: stepped.now) != nil)
        stepped.clock.stop()
        #expect(!stepped.run(until: start + .seconds(3)))
        #expect(stepped.ticks("b").count - b == 10)
    }
}
