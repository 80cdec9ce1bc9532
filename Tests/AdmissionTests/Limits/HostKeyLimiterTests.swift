import Basics
import Conference
import EndpointTestSupport
import Testing

@testable import Admission
@testable import WebServer

/// In simulated time.
@Suite("Wrong host keys")
struct HostKeyLimiterTests {
    private let now = Guarded(Instant.zero)

    private func tries(_ limiter: HostKeyLimiter, _ address: UInt32, _ key: String?, isRight: Bool = false) async
        -> Bool
    {
        var request = AdmittedJoin(room: "r", name: "Eve")
        (request.client.address, request.hostKey) = (.v4(address), key)
        do {
            _ = try await limiter.join(request, isRight: { $0 }) { _ in isRight }
            return true
        } catch {
            return false
        }
    }

    @Test func `after twenty wrong keys an address gets one try in ten seconds, and others are not slowed down`() async
    {
        let limiter = HostKeyLimiter(clock: { [now] in now.withLock { $0 } })
        for _ in 0..<100 { #expect(await tries(limiter, 2, "right", isRight: true)) }
        for _ in 0..<20 { #expect(await tries(limiter, 1, "wrong")) }
        #expect(await !tries(limiter, 1, "wrong"))
        #expect(await !tries(limiter, 1, "right", isRight: true), "right or wrong: nobody learns which")
        #expect(await tries(limiter, 1, nil))
        #expect(await tries(limiter, 2, "wrong"))
        now.withLock { $0 += .seconds(10) }
        #expect(await tries(limiter, 1, "wrong"))
        #expect(await !tries(limiter, 1, "wrong"))
    }
}
