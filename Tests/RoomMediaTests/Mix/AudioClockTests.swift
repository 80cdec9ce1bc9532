import Basics
import Synchronization
import Testing
import Threads

@testable import RoomMedia

/// An audio clock that the test runs instead of its thread, with a room that records its ticks.
private final class SteppedClock {
    let clock = AudioClock(name: "test", meter: StageMeter("test"), deliver: { _ in })
    private let rooms: AudioClock.Rooms
    private let noted = Guarded<[Int64]>([])
    private(set) var now: Instant
    private(set) var wake: Instant?

    init(at start: Instant) {
        now = start
        rooms = AudioClock.Rooms(at: start)
        clock.execute { [noted] rooms in
            let room = AudioRoom(configuration: RoomMediaConfiguration.Audio(), speakersChanged: { _, _ in })
            room.tap("file") { _, time in noted.withLock { $0.append(time) } }
            rooms.add("room", room)
        }
        wake = clock.run(rooms, at: now)
    }

    /// The room's ticks so far, in samples of 48 kHz.
    var ticks: [Int64] { noted.withLock { $0 } }

    /// Sleeps until the next wake-up and the given time longer, then runs the due work and tick.
    func sleep(late: Duration) {
        guard let wake else { return }
        now = max(now, wake) + late
        repeat { self.wake = clock.run(rooms, at: now) } while self.wake.map { $0 <= now } ?? false
    }
}

@Suite("AudioClock")
struct AudioClockTests {
    private let start = Instant(nanoseconds: 7_013_000_000)
    /// The first tick after the start, at 7.02 s.
    private let first: Int64 = 7020 * 48

    @Test("A thread that always wakes late skips no tick, and the ticks do not drift")
    func drift() {
        let stepped = SteppedClock(at: start)
        var random = SeededRandom(seed: 11)
        for _ in 0..<1500 { stepped.sleep(late: .microseconds(Int.random(in: 0...19_900, using: &random))) }
        #expect(stepped.ticks == (0..<1500).map { first + $0 * 960 })
        #expect(stepped.clock.skipped.load(ordering: .relaxed) == 0)
        #expect((0...20_000_000).contains(stepped.clock.lateness.load(ordering: .relaxed)))
    }

    @Test("Ticks missed in a short stall are caught up")
    func catchesUp() {
        let stepped = SteppedClock(at: start)
        stepped.sleep(late: .zero)
        stepped.sleep(late: .milliseconds(190))
        #expect(stepped.ticks == (0..<11).map { first + $0 * 960 })
        #expect(stepped.clock.skipped.load(ordering: .relaxed) == 0)
    }

    @Test("Ticks missed in a long stall are skipped and counted, and the next one keeps its time")
    func skips() {
        let stepped = SteppedClock(at: start)
        stepped.sleep(late: .zero)
        stepped.sleep(late: .milliseconds(1010))
        #expect(stepped.ticks == [first, first + 960])
        #expect(stepped.clock.skipped.load(ordering: .relaxed) == 50)
        stepped.sleep(late: .zero)
        #expect(stepped.ticks.last == first + 52 * 960)
        #expect(stepped.now == Instant(ticks: first + 52 * 960, at: 48_000))
    }

    @Test("Posted work runs before the next tick and not earlier, and nothing runs after the stop")
    func work() {
        let stepped = SteppedClock(at: start)
        let done = Guarded(0)
        stepped.sleep(late: .zero)
        stepped.clock.execute { _ in done.withLock { $0 += 1 } }
        #expect(done.withLock { $0 } == 0 && stepped.clock.backlog.waiting == 1)
        stepped.clock.execute { $0.remove("room") }
        stepped.sleep(late: .zero)
        #expect(done.withLock { $0 } == 1)
        #expect(stepped.ticks.count == 1, "the room went before its second tick")
        stepped.clock.stop()
        stepped.clock.execute { _ in done.withLock { $0 += 1 } }
        stepped.sleep(late: .zero)
        #expect(stepped.wake == nil && done.withLock { $0 } == 1)
    }

    @Test("People count more towards the load than empty rooms")
    func load() {
        let clock = AudioClock(name: "test", meter: StageMeter("test"), deliver: { _ in })
        clock.count(rooms: 3, people: 0)
        let empty = clock.load
        clock.count(rooms: -2, people: 1)
        #expect(clock.load > empty && empty > 0)
        clock.count(rooms: -1, people: -1)
        #expect(clock.load == 0)
    }
}
