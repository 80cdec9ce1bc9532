import Basics
import Testing

@testable import Peer

@Suite("When arrivals are reported") struct TransportFeedbackSchedulerTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private func received(_ count: Int) -> TransportFeedbackScheduler {
        var scheduler = TransportFeedbackScheduler()
        for number in 0..<count {
            scheduler.received(SequenceNumber(0) + number, at: Self.start + .milliseconds(number))
        }
        return scheduler
    }

    @Test(
        "Nothing is due before the first packet, and a busy link is reported sooner",
        arguments: [(0, nil), (5, 200), (10, 200), (11, 100), (50, 100)] as [(Int, Int64?)])
    func deadline(packets: Int, milliseconds: Int64?) {
        #expect(received(packets).deadline == milliseconds.map { Self.start + .milliseconds($0) })
    }

    @Test("A report covers the arrivals since the one before, once")
    func report() throws {
        var scheduler = received(11)
        #expect(scheduler.makeFeedback(senderSSRC: 1, mediaSSRC: 2, at: Self.start + .milliseconds(99)).isEmpty)
        let feedback = scheduler.makeFeedback(senderSSRC: 1, mediaSSRC: 2, at: Self.start + .milliseconds(100))
        #expect(feedback.map(\.arrivals.count) == [11])
        #expect(feedback.first?.mediaSSRC == 2)
        #expect(scheduler.deadline == nil)
        #expect(scheduler.makeFeedback(senderSSRC: 1, mediaSSRC: 2, at: Self.start + .seconds(1)).isEmpty)
    }

    @Test("A link that becomes busy late is reported at once, not in the past")
    func late() {
        var scheduler = received(10)
        let now = Self.start + .milliseconds(150)
        scheduler.received(10, at: now)
        #expect(scheduler.deadline == now)
    }
}
