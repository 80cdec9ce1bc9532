import Basics
import Testing

@testable import Conference

@Suite struct OverloadTimeTests {
    @Test func `the time of an overload counts where media is recorded, and only there`() {
        var time = OverloadTime()
        var changes: [Int] = []
        for second in 0..<60 {
            let isOverloaded = (10..<20).contains(second) || (30..<40).contains(second)
            let isRecording = !(35..<50).contains(second)
            let now = Instant.zero + .seconds(Int64(second))
            if time.note(isOverloaded, isRecording: isRecording, at: now) { changes.append(second) }
        }
        #expect(time.total == .seconds(15) && changes == [10, 20, 30, 35])
    }
}
