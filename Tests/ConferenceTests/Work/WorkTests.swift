import Basics
import Peer
import Synchronization
import Testing

@testable import Conference

@Suite("Work")
struct WorkTests {
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

    @Test("what should have begun first is next, whoever came first")
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

    @Test("of what is equally urgent a thread takes what it ran last")
    func homes() {
        let now = Instant(nanoseconds: 1_000_000_000)
        var ready = ReadyQueue<String>()
        ready.add("H.264", due: now, home: 1)
        ready.add("VP8", due: now + .microseconds(40), home: 0)
        ready.add("later", due: now + .milliseconds(5), home: 0)
        let order = [ready.take(for: 0), ready.take(for: 0), ready.take(for: 1)]
        #expect(order == ["VP8", "H.264", "later"], "another's rather than none, and nothing before its time")
    }

    @Test("an overload leaves the top rung to those who take the very frames that a recording needs")
    func ceiling() {
        let plain = VideoSendFormat(codec: .h264, profileLevelID: "42e01f")
        #expect(PeerSeat.sharesRecording(isRecorded: true, view: .room, format: plain))
        #expect(!PeerSeat.sharesRecording(isRecorded: false, view: .room, format: plain))
        #expect(!PeerSeat.sharesRecording(isRecorded: true, view: .personal(.init(layout: "grid", pins: ["a"])), format: plain))
        #expect(!PeerSeat.sharesRecording(isRecorded: true, view: .room, format: VideoSendFormat(codec: .vp8)))
        let single = VideoSendFormat(codec: .h264, packetizationMode: 0)
        #expect(!PeerSeat.sharesRecording(isRecorded: true, view: .room, format: single))
        #expect(!PeerSeat.sharesRecording(isRecorded: true, view: .room, format: nil))
    }

    @Test("memory is given back once, two seconds after something ended, and not more often than each ten")
    func memory() {
        func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
        let figures = Figures()
        #expect(!figures.mustReleaseMemory(at: at(9)))
        figures.ended(at: at(10))
        #expect(!figures.mustReleaseMemory(at: at(11)))
        figures.ended(at: at(11))
        #expect(!figures.mustReleaseMemory(at: at(12)))
        #expect(figures.mustReleaseMemory(at: at(13)))
        #expect(!figures.mustReleaseMemory(at: at(30)))
        figures.ended(at: at(30))
        #expect(figures.mustReleaseMemory(at: at(32)))
        figures.ended(at: at(33))
        #expect(!figures.mustReleaseMemory(at: at(41)))
        #expect(figures.mustReleaseMemory(at: at(42)))
    }

    @Test("what may not run now stays, and what comes after it goes first")
    func held() {
        let now = Instant(nanoseconds: 1_000_000_000)
        var ready = ReadyQueue<String>()
        ready.add("slow", due: now, home: 0)
        ready.add("quick", due: now + .milliseconds(9), home: nil)
        let order = [ready.take(for: 0) { $0 != "slow" }, ready.take(for: 0) { $0 != "slow" }, ready.take(for: 0)]
        #expect(order == ["quick", nil, "slow"])
    }

    @Test("however many senders are slow to decode, one thread is left for everyone else")
    func slowLanes() async {
        let pool = WorkPool(threads: 2)
        pool.start()
        defer { pool.stop() }
        @Sendable func spin(_ milliseconds: Int) {
            let end = StageMeter.threadTime() + Int64(milliseconds) * 1_000_000
            while StageMeter.threadTime() < end {}
        }
        let slow = (0..<3).map { _ in SerialLane(pool: pool, meter: StageMeter("decode"), limit: 20, isForeign: true) }
        for lane in slow {
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                lane.submit {
                    spin(60)
                    done.resume()
                }
            }
        }
        // Both know their lanes now; a second of work waits in them.
        let running = Guarded((now: 0, most: 0))
        for lane in slow {
            for _ in 0..<6 {
                lane.submit {
                    running.locked { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    spin(60)
                    running.locked { $0.now -= 1 }
                }
            }
        }
        let ours = SerialLane(pool: pool, meter: StageMeter("encode"), limit: 20)
        let ended = Guarded(0)
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            for number in 1...10 {
                ours.submit {
                    ended.locked { $0 += 1 }
                    if number == 10 { done.resume() }
                }
            }
        }
        #expect(slow.reduce(0) { $0 + $1.waiting } > 12, "ours went first")
        #expect(running.locked { $0.most } == 1)
        for lane in slow { lane.close() }
    }

    @Test("of work under one key only the newest waits, and relayed messages are left out where too much does")
    func control() async {
        let control = ControlThread()
        let seen = Guarded<[Int]>([])
        for number in 0..<1000 { control.post(.line("a")) { seen.locked { $0.append(number) } } }
        control.post(.line("b")) { seen.locked { $0.append(-1) } }
        #expect(control.backlog == BacklogFigures(waiting: 2, peak: 2))
        for _ in 0..<2 * ControlThread.limit { control.postIfRoom {} }
        #expect(control.backlog.waiting == ControlThread.limit && control.dropped == ControlThread.limit + 2)
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            control.post { done.resume() }
            control.start { _ in }
        }
        #expect(seen.locked { $0 } == [999, -1])
        control.stop()
    }

    @Test("an overload takes a step after 2 s of trouble and gives it back after 15 s of calm")
    func overload() {
        var judge = OverloadJudge()
        func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
        #expect(judge.update(lateShare: 0.5, at: at(0)) == nil)
        #expect(judge.update(lateShare: 0.5, at: at(1)) == nil)
        #expect(judge.update(lateShare: 0.5, at: at(2)) == .fastEncoders)
        #expect(judge.update(lateShare: 0.5, at: at(4)) == .halfRate)
        #expect(judge.update(lateShare: 0, at: at(5)) == nil)
        #expect(judge.update(lateShare: 0.05, at: at(15)) == nil, "neither trouble nor calm")
        #expect(judge.update(lateShare: 0, at: at(16)) == nil)
        #expect(judge.update(lateShare: 0, at: at(31)) == .fastEncoders)
        #expect(judge.update(lateShare: 0, at: at(46)) == OverloadState.Level.none)
    }
}
