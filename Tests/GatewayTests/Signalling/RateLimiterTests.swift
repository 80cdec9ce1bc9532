import Basics
import Testing

@testable import Gateway

@Suite struct RateLimiterTests {
    @Test func `joins come back at their rate, and each address has its own`() {
        let limiter = JoinLimiter(joinsPerSecond: 2, at: .zero)
        let (first, second) = (IPAddress("192.0.2.1"), IPAddress("192.0.2.2"))
        #expect((0..<6).map { _ in limiter.allows(first, at: .zero) } == [true, true, true, true, false, false])
        #expect(limiter.allows(second, at: .zero))
        #expect(!limiter.allows(first, at: .zero + .milliseconds(400)))
        #expect(limiter.allows(first, at: .zero + .milliseconds(500)))
        #expect(!limiter.allows(first, at: .zero + .milliseconds(500)))
    }

    @Test func `an IPv6 network counts as one`() {
        let limiter = JoinLimiter(joinsPerSecond: 1, at: .zero)
        #expect(limiter.allows(IPAddress("2001:db8::1"), at: .zero))
        #expect(limiter.allows(IPAddress("2001:db8::2"), at: .zero))
        #expect(!limiter.allows(IPAddress("2001:db8::3"), at: .zero))
        #expect(limiter.allows(IPAddress("2001:db8:0:1::3"), at: .zero))
    }
}
