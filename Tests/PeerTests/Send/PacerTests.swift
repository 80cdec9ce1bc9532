import Basics
import Testing

@testable import Peer

@Suite("Pacer")
struct PacerTests {
    @Test("It sends at its rate, whatever the queue")
    func rate() {
        var pacer = Pacer(rate: .kilobits(800))
        var now = Instant.zero
        var sent = 0
        while now < Instant.zero + .seconds(2) {
            pacer.advance(to: now)
            while pacer.maySend {
                pacer.sent(1000)
                sent += 1000
            }
            now = pacer.nextSend(after: now)
        }
        #expect((190_000...210_000).contains(sent))
    }

    /// The bytes that leave at once after a pause.
    private func burst(isAmple: Bool) -> Int {
        var pacer = Pacer(rate: .kilobits(2400))
        pacer.isAmple = isAmple
        pacer.advance(to: .zero)
        pacer.advance(to: .zero + .seconds(1))
        var sent = 0
        while pacer.maySend {
            pacer.sent(1000)
            sent += 1000
        }
        return sent
    }

    @Test(
        "If the link is not the limit an ordinary frame leaves at once, otherwise a third of it; a keyframe never does")
    func ample() {
        let frame = 1_500_000 / 8 / 30
        #expect(burst(isAmple: true) > frame)
        #expect(burst(isAmple: true) < 2 * frame)
        #expect(burst(isAmple: false) < frame * 2 / 3)
    }

    @Test("However much leaves at once, the rate is kept")
    func ampleRate() {
        var pacer = Pacer(rate: .kilobits(800))
        pacer.isAmple = true
        var sent = 0
        for tick in 0..<60 {
            pacer.advance(to: .zero + .milliseconds(33 * tick))
            while pacer.maySend {
                pacer.sent(1000)
                sent += 1000
            }
        }
        #expect((190_000...200_000).contains(sent))
    }
}
