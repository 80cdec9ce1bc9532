import Basics
import Testing

@testable import Threads

@Suite("The work pool and its lanes")
struct WorkPoolTests {
    @Test("a lane runs its jobs in order, one at a time, however many threads there are")
    func order() async {
        let pool = WorkPool(threads: 4)
        pool.start()
        defer { pool.stop() }
        let lane = SerialLane(pool: pool, meter: StageMeter("test"), limit: 10_000)
        let seen = Confined<[Int]>([])
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            for number in 0..<5000 { lane.submit { seen.value.append(number) } }
            lane.submit { done.resume() }
        }
        #expect(seen.value == Array(0..<5000))
    }

    @Test("a full lane drops its oldest job and counts it")
    func bounded() async {
        let pool = WorkPool(threads: 1)
        let meter = StageMeter("test")
        let lane = SerialLane(pool: pool, meter: meter, limit: 2)
        let seen = Confined<[Int]>([])
        for number in 0..<9 { lane.submit { seen.value.append(number) } }
        #expect(meter.dropped == 7)
        #expect(lane.isBusy)
        #expect(lane.runOne() != nil)
        #expect(lane.runOne() == nil)
        #expect(seen.value == [7, 8])
        #expect(!lane.isBusy)
    }

    @Test("slow lanes, however many, leave one thread to the other lanes")
    func slowLanes() async {
        let pool = WorkPool(threads: 2)
        pool.start()
        defer { pool.stop() }
        @Sendable func spin(_ milliseconds: Int) {
            let end = ThreadClock.nanoseconds() + Int64(milliseconds) * 1_000_000
            while ThreadClock.nanoseconds() < end {}
        }
        let slow = (0..<3).map { _ in
            SerialLane(pool: pool, meter: StageMeter("decode"), limit: 20, hasUntrustedInput: true)
        }
        for lane in slow {
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                lane.submit {
                    spin(60)
                    done.resume()
                }
            }
        }
        // The pool knows by now which lanes are slow; a second of work waits in them.
        let running = Guarded((now: 0, most: 0))
        for lane in slow {
            for _ in 0..<6 {
                lane.submit {
                    running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    spin(60)
                    running.withLock { $0.now -= 1 }
                }
            }
        }
        let ours = SerialLane(pool: pool, meter: StageMeter("encode"), limit: 20)
        let waitingAtOurEnd = await withCheckedContinuation { (done: CheckedContinuation<Int, Never>) in
            for number in 1...10 {
                ours.submit { if number == 10 { done.resume(returning: slow.reduce(0) { $0 + $1.waiting }) } }
            }
        }
        #expect(waitingAtOurEnd > 3, "ours went first")
        #expect(running.withLock { $0.most } <= 1)
        for lane in slow { lane.close() }
    }
}
