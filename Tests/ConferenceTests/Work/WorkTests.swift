import Basics
import Peer
import Testing
import Threads

@testable import Conference
@testable import RoomMedia

@Suite("Work")
struct WorkTests {
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

    @Test("of work under one key only the newest waits, and relayed messages are left out where too much does")
    func control() async {
        let control = ControlThread()
        let seen = Guarded<[Int]>([])
        for number in 0..<1000 { control.post(.line("a")) { seen.withLock { $0.append(number) } } }
        control.post(.line("b")) { seen.withLock { $0.append(-1) } }
        #expect(control.backlog == BacklogFigures(waiting: 2, peak: 2))
        for _ in 0..<2 * ControlThread.limit { control.postIfRoom {} }
        #expect(control.backlog.waiting == ControlThread.limit && control.dropped == ControlThread.limit + 2)
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            control.post { done.resume() }
            control.start { _ in }
        }
        #expect(seen.withLock { $0 } == [999, -1])
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
