import Basics
import Testing

@testable import Peer

@Suite("A queue that round trips show")
struct RoundTripQueueTests {
    /// One sample a second, each of another sender report, in ms.
    private func queue(_ samples: [Int64], interval: Duration = .seconds(1)) -> RoundTripQueue {
        var queue = RoundTripQueue()
        for (index, sample) in samples.enumerated() {
            queue.add(
                .milliseconds(sample), of: UInt32(index), at: Instant(nanoseconds: 1_000_000_000) + interval * index)
        }
        return queue
    }

    static let agreements: [(samples: [Int64], milliseconds: Int64)] = [
        ([], 0), ([50], 0), ([50, 300], 0), ([50, 50, 300], 0), ([50, 300, 280], 230), ([50, 120, 300], 70),
        ([50, 300, 50], 0),
    ]

    @Test("Two samples that agree show a queue; one alone does not", arguments: agreements)
    func standing(samples: [Int64], milliseconds: Int64) {
        #expect(queue(samples).standing == .milliseconds(milliseconds))
    }

    @Test(
        "After a sample far above both its neighbours the peer counts as answering late: then three must agree")
    func late() {
        #expect(!queue([50, 300, 280, 50]).answersLate)
        #expect(queue([50, 120, 50, 50]).answersLate)
        #expect(queue([50, 120, 50, 300, 300]).standing == .zero)
        #expect(queue([50, 120, 50, 300, 300, 300]).standing == .milliseconds(250))
        #expect(queue([50, 120, 50] + Array(repeating: 50, count: 61)).answersLate == false)
    }

    @Test("Two answers about one sender report are one sample, the shorter of both")
    func twice() {
        var queue = queue([50, 50])
        queue.add(.milliseconds(400), of: 9, at: Instant(nanoseconds: 4_000_000_000))
        queue.add(.milliseconds(350), of: 9, at: Instant(nanoseconds: 5_000_000_000))
        #expect(queue.standing == .zero)
        #expect(queue.newest == .milliseconds(300))
    }

    @Test("Samples within one stall of the receiver are not enough")
    func close() {
        #expect(queue([50, 50, 400, 400], interval: .milliseconds(250)).standing == .zero)
        #expect(queue([50, 50, 400, 400, 400], interval: .milliseconds(250)).standing == .milliseconds(350))
    }

    @Test(
        "The shortest round trip is kept between reports every five seconds, and forgotten after ten if they come every second"
    )
    func memory() {
        #expect(queue([50, 50, 300, 300, 300], interval: .seconds(5)).standing == .milliseconds(250))
        #expect(queue([50] + Array(repeating: 300, count: 11)).standing == .zero)
        #expect(queue([50] + Array(repeating: 300, count: 10)).standing == .milliseconds(250))
    }

    @Test("A sample of long ago does not count as known")
    func known() {
        let queue = queue([50])
        #expect(queue.isKnown(at: Instant(nanoseconds: 11_000_000_000)))
        #expect(!queue.isKnown(at: Instant(nanoseconds: 11_000_000_001)))
        #expect(!RoundTripQueue().isKnown(at: Instant(nanoseconds: 1)))
    }
}
