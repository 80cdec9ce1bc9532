import Basics
import Testing

@testable import Peer

@Suite("RetransmissionHistory")
struct RetransmissionHistoryTests {
    private static let start = Instant(nanoseconds: 9_000_000_000)
    private static let size = 1000
    private static let roundTrip = Duration.milliseconds(100)

    private func packet(_ number: Int, at now: Instant = start) -> RetransmissionHistory.Packet {
        let frame = PacketizedVideoFrame(
            EncodedVideoFrame(
                codec: .vp8, data: [UInt8](repeating: 1, count: Self.size), isKeyframe: false, temporalLayer: 0,
                timestamp: 0))
        return RetransmissionHistory.Packet(
            sequence: SequenceNumber(0) + number, timestamp: RTPTimestamp(wrapping: 0), payloadType: 96, marker: true,
            frame: frame, fragment: 0, picture: PictureNumbers(pictureID: 0, tl0: 0), sent: now, sendTime: 0)
    }

    private func history(
        _ numbers: Range<Int>, rate: BitRate = .megabits(10), every step: Duration = .zero
    ) -> RetransmissionHistory {
        var history = RetransmissionHistory()
        for (index, number) in numbers.enumerated() {
            history.store(packet(number, at: Self.start + step * index), bytes: Self.size, rate: rate, loss: 0)
        }
        return history
    }

    /// Those of the numbers that are sent again when a peer asks for all of them at once.
    private func taken(
        _ numbers: some Sequence<Int>, of history: inout RetransmissionHistory, at now: Instant = start
    ) -> [Int] {
        numbers.filter { number in
            let packet = history.take(
                SequenceNumber(0) + number, asked: now, roundTrip: Self.roundTrip, at: now, hasArrived: { _ in false })
            #expect(packet == nil || packet?.sequence == SequenceNumber(0) + number)
            return packet != nil
        }
    }

    @Test("Packets are found by their sequence number, also across the wrap-around", arguments: [100, 65_530])
    func wraps(first: Int) {
        var history = history(first..<first + 12)
        #expect(taken(first - 1..<first + 13, of: &history) == Array(first..<first + 12))
    }

    @Test("A packet is forgotten after 1.5 s, and when 1024 packets followed it")
    func forgets() {
        var history = history(60_000..<60_000 + RetransmissionHistory.capacity + 5)
        #expect(taken(60_000..<60_010, of: &history) == Array(60_005..<60_010))
        let old = Self.start + RetransmissionHistory.ageInMotion
        #expect(history.holds(SequenceNumber(0) + 60_020, at: old))
        #expect(taken([60_020], of: &history, at: old) == [60_020])
        #expect(!history.holds(SequenceNumber(0) + 60_021, at: old + .nanoseconds(1)))
        #expect(taken([60_021], of: &history, at: old + .nanoseconds(1)).isEmpty)
        #expect(history.forProbe(at: old) != nil)
        #expect(history.forProbe(at: old + .nanoseconds(1)) == nil)
    }

    @Test("A probe carries the newest packet")
    func probe() {
        #expect(RetransmissionHistory().forProbe(at: Self.start) == nil)
        let history = history(65_500..<65_600)
        #expect(history.forProbe(at: Self.start)?.sequence == SequenceNumber(0) + 65_599)
    }

    @Test("A repair is not repeated before three quarters of a round trip")
    func onItsWay() {
        var history = history(0..<5)
        #expect(taken([3], of: &history) == [3])
        #expect(taken([3], of: &history, at: Self.start + .milliseconds(70)).isEmpty)
        #expect(taken([3], of: &history, at: Self.start + .milliseconds(80)) == [3])
    }

    @Test("A packet whose repair has arrived is not sent again")
    func arrived() {
        var history = history(0..<5)
        #expect(taken([3], of: &history) == [3])
        let repair = SequenceNumber(700)
        history.repairing(SequenceNumber(3), as: repair, at: Self.start)
        let later = Self.start + .milliseconds(300)
        let again = history.take(
            SequenceNumber(3), asked: later, roundTrip: Self.roundTrip, at: later, hasArrived: { $0 == repair })
        #expect(again == nil)
        #expect(taken([3], of: &history, at: later) == [3], "feedback has not told of the repair")
    }

    @Test("Repairs may take a quarter of the media bytes, and half a second of its rate at once")
    func budget() {
        // 20,000 bytes to begin with, and a quarter of 100,000.
        var some = history(0..<100)
        #expect(taken(0..<100, of: &some).count == 45)
        some.store(packet(100), bytes: 8000, rate: .megabits(10), loss: 0)
        #expect(taken(45..<100, of: &some).count == 2)
        // 1 Mbit/s for half a second: 62,500 bytes.
        var full = history(0..<1000, rate: .megabits(1))
        #expect(taken(0..<1000, of: &full).count == 62)
        var thin = history(0..<1000, rate: .kilobits(10))
        #expect(taken(0..<1000, of: &thin).count == RetransmissionHistory.leastAllowance / Self.size)
    }

    @Test("Under heavy loss repairs may take what they need, and never more than the picture")
    func heavyLoss() {
        let shares = [0, 0.1, 0.2, 0.3, 0.5, 1].map { RetransmissionHistory.share(loss: $0) }
        #expect(shares.prefix(2) == [0.25, 0.25] && shares.suffix(2) == [0.8, 0.8])
        #expect((0.40...0.42).contains(shares[2]) && (0.79...0.8).contains(shares[3]))
    }

    @Test("The lateness of the first repair that arrived is told after the feedback time")
    func lateness() {
        var history = history(0..<5)
        let told = RetransmissionHistory.feedbackTime
        #expect(history.takeLateness(at: Self.start + .seconds(5)) { _ in true } == nil)
        // Packet 1 is repaired after 100 ms and once more after 300; packet 2 after 200, and that got lost.
        history.repairing(SequenceNumber(1), as: SequenceNumber(10), at: Self.start + .milliseconds(100))
        history.repairing(SequenceNumber(2), as: SequenceNumber(11), at: Self.start + .milliseconds(200))
        history.repairing(SequenceNumber(1), as: SequenceNumber(12), at: Self.start + .milliseconds(300))
        let arrived = { (number: SequenceNumber) in number != SequenceNumber(11) }
        #expect(history.takeLateness(at: Self.start + .milliseconds(599), hasArrived: arrived) == nil)
        let late = history.takeLateness(at: Self.start + .milliseconds(300) + told, hasArrived: arrived)
        #expect(late == .milliseconds(100))
        #expect(history.takeLateness(at: Self.start + .seconds(5), hasArrived: arrived) == nil)
    }
}
