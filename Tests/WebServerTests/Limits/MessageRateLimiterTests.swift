import Basics
import Testing

@testable import WebServer

@Suite struct MessagePaceTests {
    @Test func `a call's beginning passes at once, a flood is read slowly`() {
        var pace = MessageRateLimiter(at: .zero)
        var now = Instant.zero
        for _ in 0..<100 { now += pace.pause(after: 300, at: now) }
        #expect(now == .zero)
        for _ in 0..<1000 { now += pace.pause(after: 100, at: now) }
        #expect(now - .zero >= .seconds(17), "50 messages a second")
    }

    @Test func `large messages are read by their bytes`() {
        var pace = MessageRateLimiter(at: .zero)
        var now = Instant.zero
        for _ in 0..<60 { now += pace.pause(after: 65_536, at: now) }
        #expect(now - .zero >= .seconds(50), "64 KiB a second")
    }
}
