import Testing

@testable import Streaming

@Suite struct AudioTimelineTests {
    @Test func `Blocks in order are taken as they are`() {
        var timeline = AudioTimeline()
        for tick in 0..<5 { #expect(timeline.place(960, at: 7000 + Int64(tick) * 960 + Int64(tick % 2)) == .init()) }
        #expect(timeline.origin == 7000)
    }

    @Test func `A lost block becomes silence, one that comes twice is left out, and an overlap is cut`() {
        var timeline = AudioTimeline()
        #expect(timeline.place(960, at: 0) == .init())
        #expect(timeline.place(960, at: 1920) == .init(silence: 960))
        #expect(timeline.place(960, at: 1920) == nil)
        #expect(timeline.place(960, at: 2400) == .init(skipped: 480))
        #expect(timeline.place(960, at: 3360) == .init())
    }

    @Test func `A long gap is left out, and what follows has its own time`() {
        var timeline = AudioTimeline()
        #expect(timeline.place(960, at: 0) == .init())
        #expect(timeline.place(960, at: 480_960) == .init())
        #expect(timeline.origin == 480_000)
        #expect(timeline.place(960, at: 481_920) == .init())
    }
}
