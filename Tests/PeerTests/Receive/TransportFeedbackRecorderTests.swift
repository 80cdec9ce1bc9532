import Basics
import TestSupport
import Testing

@testable import Peer

@Suite struct TransportFeedbackRecorderTests {
    @Test(arguments: seeds(1...3)) func `Transport feedback reports each arrival, split and over the wrap`(
        seed: UInt64
    ) {
        var random = SeededRandom(seed: seed)
        var recorder = TransportFeedbackRecorder()
        var sent: [SequenceNumber: Int64] = [:]
        var now = Instant(nanoseconds: 7_000_000_000)
        var sequence: SequenceNumber = 64_000
        for _ in 0..<3000 {
            sequence += 1
            now += .microseconds(Int64.random(in: 10...20_000, using: &random))
            if Int.random(in: 0..<10, using: &random) == 0 { continue }
            recorder.received(sequence, at: now)
            sent[sequence] = now.nanoseconds / 1000
        }
        var told: [SequenceNumber: Int64] = [:]
        for feedback in recorder.makeFeedback(senderSSRC: 1, mediaSSRC: 2, at: now) {
            var bytes: [UInt8] = []
            feedback.encode(into: &bytes)
            #expect(bytes.count <= 1200)
            #expect(RTCPPacketTests.read(bytes).packets == [.transportFeedback(feedback)])
            for arrival in ArrivalReport(feedback).arrivals {
                told[feedback.baseSequence + arrival.offset] = arrival.time.nanoseconds / 1000
            }
        }
        #expect(Set(told.keys) == Set(sent.keys))
        for (sequence, arrival) in sent { #expect(abs((told[sequence] ?? 0) - arrival) <= 250) }
    }

    @Test func `A late packet is reported with a lower base`() throws {
        var recorder = TransportFeedbackRecorder()
        for sequence: SequenceNumber in [10, 12] { recorder.received(sequence, at: .zero + .milliseconds(100)) }
        let first = recorder.makeFeedback(senderSSRC: 1, mediaSSRC: 2, at: .zero + .milliseconds(150))
        let second = recorder.makeFeedback(senderSSRC: 1, mediaSSRC: 2, at: .zero + .milliseconds(160))
        #expect(first.count == 1 && second.isEmpty)
        recorder.received(11, at: .zero + .milliseconds(170))
        let third = recorder.makeFeedback(senderSSRC: 1, mediaSSRC: 2, at: .zero + .milliseconds(200))
        let again = try #require(third.first)
        #expect(again.baseSequence == 11 && again.statusCount == 2 && again.arrivals.map(\.sequence) == [11, 12])
        #expect(again.feedbackCount == 1)
    }
}
