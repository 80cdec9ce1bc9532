import Basics
import Testing

@testable import RoomMedia

@Suite("OverloadJudge")
struct OverloadJudgeTests {
    @Test("the level rises after 2 s of trouble and falls after 15 s of calm")
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
