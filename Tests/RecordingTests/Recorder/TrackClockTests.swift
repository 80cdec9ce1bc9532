import Testing

@testable import Recording

@Suite struct TrackClockTests {
    @Test func `before the recording begins nothing is decided, and then what came earlier is not in it`() {
        var clock = TrackClock()
        #expect(clock.place(90) == .later)
        clock.runs(at: 100, origin: 100)
        #expect(clock.place(90) == .never)
        #expect(clock.place(100) == .at(0))
        #expect(clock.place(150) == .at(50))
        #expect(clock.beginning == 0)
    }

    @Test func `a pause is cut out`() {
        var clock = TrackClock()
        clock.runs(at: 100, origin: 100)
        clock.runs(at: 120, origin: 100)
        clock.pause(at: 200)
        #expect(clock.place(199) == .at(99))
        #expect(clock.place(200) == .never && clock.place(300) == .never)
        #expect(clock.beginning == nil)
        clock.resume(at: 500)
        #expect(clock.place(499) == .never)
        #expect(clock.place(510) == .later)
        // The keyframe comes; the last picture before the pause ended at 210.
        clock.runs(at: 530, origin: 420)
        #expect(clock.place(510) == .never)
        #expect(clock.place(530) == .at(110) && clock.place(540) == .at(120))
        #expect(clock.place(150) == .at(50))
    }

    @Test func `a recording that is paused before it began begins after the pause`() {
        var clock = TrackClock()
        clock.pause(at: 50)
        #expect(clock.place(60) == .never)
        clock.resume(at: 100)
        #expect(clock.place(90) == .never && clock.place(100) == .later)
        clock.runs(at: 130, origin: 130)
        #expect(clock.place(130) == .at(0))
    }
}
