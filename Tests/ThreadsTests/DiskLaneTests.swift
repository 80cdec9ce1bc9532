import Basics
import TestSupport
import Testing
import Threads

@Suite("A lane for a disk")
struct DiskLaneTests {
    /// A disk that hangs until it is told to answer.
    private final class HungDisk: Sendable {
        private let answers = Condition(false)
        func wait() { let _: Void? = answers.wait { $0 ? () : nil } }
        func answer() { answers.withLock(waking: .all) { $0 = true } }
    }

    /// As a thread does that may block.
    private func perform(_ job: () -> Void, on lane: DiskLane) { lane.perform(job) }

    private let long = Duration.seconds(3600)

    @Test("jobs run in order, one at a time")
    func order() async throws {
        let lane = DiskLane("test", most: 1000, limit: long)
        let seen = Guarded<[Int]>([])
        for number in 0..<100 { lane.submit { seen.withLock { $0.append(number) } } }
        let last = try await lane.run { seen.withLock { $0.count } }
        #expect(last == 100 && seen.withLock { $0 } == Array(0..<100))
    }

    @Test("what waits for a disk that hangs is bounded, and a job with a key takes the place of the former one")
    func bounded() async throws {
        let lane = DiskLane("test", most: 3, limit: long)
        let disk = HungDisk()
        let seen = Guarded<[Int]>([])
        lane.submit { disk.wait() }
        #expect(await eventually { lane.status(at: MonotonicClock.now()).waiting == 0 })
        func note(_ number: Int) -> @Sendable () -> Void { { seen.withLock { $0.append(number) } } }
        #expect(lane.submit(replacing: "poll", note(1)) && lane.submit(note(2)) && lane.submit(note(3)))
        #expect(!lane.submit(note(4)) && !lane.submit(replacing: "other", note(5)))
        #expect(lane.submit(replacing: "poll", note(6)))
        lane.add(note(7))
        await #expect(throws: DiskLane.Refusal.full) { try await lane.run { 8 } }
        let status = lane.status(at: MonotonicClock.now() + .seconds(60))
        #expect(status.waiting == 4 && status.running >= .seconds(60))
        disk.answer()
        perform(note(9), on: lane)
        #expect(seen.withLock { $0 } == [6, 2, 3, 7, 9])
        #expect(await eventually { lane.status(at: MonotonicClock.now()).running == .zero })
    }

    @Test(
        "nobody waits longer than the limit; a job that had begun hands over its value, one that had not does not run")
    func late() async throws {
        let lane = DiskLane("test", most: 10, limit: .milliseconds(20))
        let disk = HungDisk()
        let late = Guarded<[Int]>([])
        let ran = Guarded(false)
        await #expect(throws: DiskLane.Refusal.late) {
            try await lane.run {
                disk.wait()
                return 1
            } late: { value in
                late.withLock { $0.append(value) }
            }
        }
        await #expect(throws: DiskLane.Refusal.late) { try await lane.run { ran.withLock { $0 = true } } }
        disk.answer()
        #expect(await lane.perform { 3 } == 3)
        #expect(late.withLock { $0 } == [1] && !ran.withLock { $0 })
    }

    @Test("a lane that nobody refers to runs what waits, and its thread ends")
    func end() async throws {
        let token = Guarded<HungDisk?>(HungDisk())
        weak let held = token.withLock { $0 }
        let ran = Guarded(false)
        do {
            let lane = DiskLane("test", most: 10, limit: long)
            let disk = token.withLock { $0 }
            lane.submit { disk?.wait() }
            lane.submit { ran.withLock { $0 = true } }
        }
        token.withLock { disk in
            disk?.answer()
            disk = nil
        }
        #expect(await eventually { ran.withLock { $0 } && held == nil })
    }
}
