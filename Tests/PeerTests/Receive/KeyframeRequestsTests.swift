import Basics
import Testing

@testable import Peer

@Suite("When a keyframe is requested") struct KeyframeRequestsTests {
    private static let start = Instant.zero + .seconds(1)

    private func started() -> KeyframeRequests {
        var requests = KeyframeRequests(VideoReceiveConfiguration())
        requests.start(at: Self.start)
        requests.need()
        return requests
    }

    @Test("The first request waits for reordered packets")
    func grace() {
        #expect(started().earliest(roundTrip: .zero) == Self.start + .milliseconds(50))
    }

    @Test(
        "A request is repeated after the round trip, within limits",
        arguments: [(0, 400), (100, 500), (1000, 1000)] as [(Int64, Int64)])
    func retry(roundTrip: Int64, wait: Int64) {
        var requests = started()
        requests.sent(at: Self.start)
        #expect(requests.earliest(roundTrip: .milliseconds(roundTrip)) == Self.start + .milliseconds(wait))
    }

    @Test("A new need is requested sooner than a repetition")
    func anew() {
        var requests = started()
        requests.sent(at: Self.start)
        requests.satisfied()
        #expect(!requests.isNeeded)
        requests.needAnother()
        #expect(requests.isNeeded)
        #expect(requests.earliest(roundTrip: .milliseconds(200)) == Self.start + .milliseconds(400))
    }

    @Test("A first keyframe that was not requested ends the grace period")
    func unasked() {
        var requests = started()
        requests.satisfied()
        #expect(requests.earliest(roundTrip: .zero) == nil)
    }
}
