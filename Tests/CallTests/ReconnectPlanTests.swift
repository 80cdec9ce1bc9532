import Basics
import Testing

@testable import Call

@Suite("The time before a participant comes back")
struct ComebackTests {
    @Test("is at most 300 ms at first, then up to 5 s, any part of it")
    func grows() {
        var (shortest, middle, longest) = (ReconnectPlan(), ReconnectPlan(), ReconnectPlan())
        let most: [Duration] = [.milliseconds(300), .seconds(1), .seconds(2), .seconds(4), .seconds(5), .seconds(5)]
        for time in most {
            #expect(shortest.delay(.lost, random: 0) == .zero)
            #expect(middle.delay(.lost, random: 0.5) == time / 2)
            #expect(longest.delay(.lost, random: 1) == time)
        }
        for _ in 0..<100 { #expect(longest.delay(.lost, random: 1) == .seconds(5)) }
        longest.succeeded()
        #expect(longest.delay(.lost, random: 1) == .milliseconds(300))
    }

    @Test("after a move is at most half a second, and what the server asks for within bounds")
    func asked() {
        var comeback = ReconnectPlan()
        #expect(comeback.delay(.moved, random: 1) == .milliseconds(500))
        #expect(comeback.delay(.later(seconds: 2), random: 0) == .seconds(2))
        #expect(comeback.delay(.later(seconds: 2), random: 1) == .seconds(4))
        #expect(comeback.delay(.later(seconds: .max), random: 0) == .seconds(60))
        #expect(comeback.delay(.later(seconds: -1), random: 0) == .seconds(1))
    }
}
