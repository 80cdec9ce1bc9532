import Basics
import Testing

@testable import Peer

@Suite("Whether an ICE peer is still reachable") struct ICELivenessTests {
    private let liveness = ICELiveness(ICEConfiguration(), mediaIsConsent: false, at: .zero)
    private func at(_ seconds: Double) -> Instant { .zero + .seconds(seconds) }

    @Test("Six seconds without a packet are an interruption, once, and only if there was a path")
    func interruption() {
        var liveness = liveness
        let (early, pathless) = (
            liveness.interruptIfDue(hasPath: true, at: at(5.9)), liveness.interruptIfDue(hasPath: false, at: at(6))
        )
        #expect(!early && !pathless && liveness.deadline(hasPath: true) == at(6))
        let (first, second) = (
            liveness.interruptIfDue(hasPath: true, at: at(6)), liveness.interruptIfDue(hasPath: true, at: at(7))
        )
        #expect(first && !second && liveness.isInterrupted && liveness.deadline(hasPath: true) == at(30))
        let (recovered, again) = (liveness.noteMedia(at: at(8)), liveness.noteMedia(at: at(8)))
        #expect(recovered && !again && !liveness.isInterrupted && liveness.lastReceived == at(8))
    }

    @Test(
        "Thirty seconds without a check expire a full agent's consent, however much media comes; a restart begins anew")
    func expiry() {
        var liveness = liveness
        _ = liveness.noteMedia(at: at(29))
        let early = liveness.expireIfDue(at: at(29.9))
        #expect(!early && liveness.deadline(hasPath: true) == at(30))
        let (first, second) = (liveness.expireIfDue(at: at(30)), liveness.expireIfDue(at: at(31)))
        #expect(first && !second && liveness.isExpired)
        liveness.restart(at: at(40))
        let late = liveness.expireIfDue(at: at(69))
        #expect(!liveness.isExpired && !late && liveness.deadline(hasPath: false) == at(70))
    }

    @Test("Media is consent for a lite agent")
    func mediaAlone() {
        var liveness = ICELiveness(ICEConfiguration(), mediaIsConsent: true, at: .zero)
        _ = liveness.noteMedia(at: at(29))
        let (early, late) = (liveness.expireIfDue(at: at(58.9)), liveness.expireIfDue(at: at(59)))
        #expect(!early && late)
    }

    @Test("A check counts as received, and ends an interruption too")
    func consent() {
        var liveness = liveness
        _ = liveness.interruptIfDue(hasPath: true, at: at(6))
        let recovered = liveness.noteConsent(at: at(7))
        #expect(recovered && liveness.lastReceived == at(7) && liveness.deadline(hasPath: true) == at(13))
    }
}
