import Basics
import Testing

@testable import Peer

@Suite("When a keyframe is asked for") struct KeyframeRequestsTests {
    private static let start = Instant.zero + .seconds(1)

    private func started() -> KeyframeRequests {
        var requests = KeyframeRequests(VideoReceiveConfiguration())
        requests.start(at: Self.start)
        requests.need()
        return requests
    }

    @Test("The first one waits for packets that were overtaken")
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

    @Test("A need of its own is asked for sooner than a repeat")
    func anew() {
        var requests = started()
        requests.sent(at: Self.start)
        requests.satisfied()
        #expect(!requests.isNeeded)
        requests.needAnother()
        #expect(requests.isNeeded)
        #expect(requests.earliest(roundTrip: .milliseconds(200)) == Self.start + .milliseconds(400))
    }

    @Test("Without a request before, the first keyframe that was not asked for ends the grace")
    func unasked() {
        var requests = started()
        requests.satisfied()
        #expect(requests.earliest(roundTrip: .zero) == nil)
    }
}
