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
        #expect(!PeerSeat.sharesRecording(isRecorded: true, view: .personal("a"), format: plain))
        #expect(!PeerSeat.sharesRecording(isRecorded: true, view: .room, format: VideoSendFormat(codec: .vp8)))
        let single = VideoSendFormat(codec: .h264, packetizationMode: 0)
        #expect(!PeerSeat.sharesRecording(isRecorded: true, view: .room, format: single))
        #expect(!PeerSeat.sharesRecording(isRecorded: true, view: .room, format: nil))
    }

    @Test("memory is given back once, two seconds after the last room ended, unless another began")
    func memory() {
        func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
        let figures = Figures()
        #expect(!figures.mustReleaseMemory(at: at(9), hasRooms: false))
        figures.wasLastRoom(at: at(10))
        #expect(!figures.mustReleaseMemory(at: at(11), hasRooms: false))
        #expect(figures.mustReleaseMemory(at: at(12), hasRooms: false))
        #expect(!figures.mustReleaseMemory(at: at(13), hasRooms: false))
        figures.wasLastRoom(at: at(20))
        #expect(!figures.mustReleaseMemory(at: at(21), hasRooms: true))
        #expect(!figures.mustReleaseMemory(at: at(30), hasRooms: false))
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
