import Basics
import Testing

@testable import Peer

@Suite("The tempo of playout") struct PlayoutTempoTests {
    /// The tempo at a target of 100 ms, with nothing held beside the packets.
    private func next(_ tempo: inout PlayoutTempo, delay milliseconds: Int64, ahead: Int64 = 0, minimum: Int64 = 0)
        -> Double
    {
        tempo.next(
            delay: .milliseconds(milliseconds), target: .milliseconds(100), minimum: .milliseconds(minimum),
            ahead: .milliseconds(ahead))
    }

    @Test(
        "The further the delay is from the target, the faster or slower",
        arguments: [(100, 1), (120, 1), (121, 1.08), (161, 1.2), (251, 1.25), (90, 1), (89, 0.9), (59, 0.8)]
            as [(Int64, Double)])
    func steps(delay: Int64, expected: Double) {
        var tempo = PlayoutTempo(maximumDelay: .milliseconds(300))
        #expect(next(&tempo, delay: delay) == expected)
    }

    @Test("Above the ceiling audio is played at the highest speed, however near the target is")
    func ceiling() {
        var tempo = PlayoutTempo(maximumDelay: .milliseconds(110))
        #expect(next(&tempo, delay: 111) == 1.25)
    }

    @Test("A tempo is kept until the target is reached")
    func hysteresis() {
        var tempo = PlayoutTempo(maximumDelay: .milliseconds(300))
        #expect([130, 110, 106].map { next(&tempo, delay: $0) } == [1.08, 1.08, 1.08])
        #expect(next(&tempo, delay: 105) == 1)
        #expect([80, 95, 99].map { next(&tempo, delay: $0) } == [0.9, 0.9, 0.9])
        #expect(next(&tempo, delay: 100) == 1)
    }

    @Test("Audio beside the packets is reduced, from 6 ms down to 3 ms, but not if the picture needs it")
    func shedding() {
        var tempo = PlayoutTempo(maximumDelay: .milliseconds(300))
        #expect([6, 7, 4, 3, 4].map { next(&tempo, delay: 100, ahead: $0) } == [1, 1.08, 1.08, 1, 1])
        #expect(next(&tempo, delay: 100, ahead: 20, minimum: 96) == 1)
        #expect(next(&tempo, delay: 95, ahead: 20) == 1)
    }
}
