import Basics
import Conference
import Testing
import Threads

@testable import Admission
@testable import WebServer

@Suite struct JoinLimiterTests {
    private func client(_ address: String, _ identity: String? = nil) -> JoinClient {
        JoinClient(address: IPAddress(address), identity: identity)
    }

    @Test func `twice the rate passes at once, the joins of five seconds in turn, further ones get the time to wait`() {
        let limiter = JoinLimiter(joinsPerSecond: 5, at: .zero)
        let verdicts = (0..<37).map { _ in limiter.admit(client("192.0.2.1"), at: .zero) }
        #expect(verdicts[..<10].allSatisfy { $0 == .enter(after: .zero) })
        #expect(verdicts[10] == .enter(after: .milliseconds(200)) && verdicts[34] == .enter(after: .seconds(5)))
        #expect(verdicts[29] == .enter(after: .seconds(4)), "thirty people of one office are in after four seconds")
        #expect(verdicts[35] == .refuse(retryAfter: .milliseconds(5200)))
        #expect(limiter.admit(client("192.0.2.2"), at: .zero) == .enter(after: .zero), "each address has its own")
        #expect(limiter.admit(client("192.0.2.1"), at: .zero + .seconds(10)) == .enter(after: .zero))
    }

    @Test func `an IPv6 network counts as one`() {
        let limiter = JoinLimiter(joinsPerSecond: 1, at: .zero)
        #expect(limiter.admit(client("2001:db8::1"), at: .zero) == .enter(after: .zero))
        #expect(limiter.admit(client("2001:db8::2"), at: .zero) == .enter(after: .zero))
        #expect(limiter.admit(client("2001:db8::3"), at: .zero) == .enter(after: .seconds(1)))
        #expect(limiter.admit(client("2001:db8:0:1::3"), at: .zero) == .enter(after: .zero))
    }

    @Test func `a join with a token does not wait for others of the address`() {
        let limiter = JoinLimiter(joinsPerSecond: 1, at: .zero)
        while case .enter = limiter.admit(client("192.0.2.1"), at: .zero) {}
        #expect(limiter.admit(client("192.0.2.1", "anna"), at: .zero) == .enter(after: .zero))
        while case .enter = limiter.admit(client("192.0.2.1", "anna"), at: .zero) {}
        #expect(limiter.admit(client("192.0.2.1", "bo"), at: .zero) == .enter(after: .zero))
    }

    @Test func `a failed join returns its allowance`() async throws {
        let limiter = JoinLimiter(joinsPerSecond: 1, at: MonotonicClock.now())
        var request = JoinRequest(room: "r", name: "Eve")
        request.client = client("192.0.2.1")
        for _ in 0..<50 {
            await #expect(throws: ConferenceError.self) {
                try await limiter.join(request) {
                    JoinAuthorizer.admitUnproven(request)
                } join: { _ in
                    throw ConferenceError.unknownLayout("no")
                }
            }
        }
        #expect(limiter.admit(client("192.0.2.1"), at: MonotonicClock.now()) == .enter(after: .zero))
    }

    @Test func `wrong tokens do not use the allowance of the address`() {
        let limiter = JoinLimiter(joinsPerSecond: 5, at: .zero)
        let delays = (0..<1000).map { _ in limiter.delay(afterFailureOf: client("192.0.2.1"), at: .zero) }
        #expect(delays.first == .zero && delays.last == JoinLimiter.failureDelay)
        #expect(limiter.admit(client("192.0.2.1"), at: .zero) == .enter(after: .zero))
    }
}
