import Basics
import Peer
import Testing

@testable import Call

@Suite struct AudioOrderTests {
    private func packet(_ sequence: Int64) -> ReceivedAudioPacket {
        ReceivedAudioPacket(
            payload: [UInt8(sequence)], sequence: sequence, timestamp: sequence * 960, marker: false, level: nil,
            captureTime: Instant(ticks: sequence * 960, at: 48_000), arrival: .zero)
    }

    private func order(_ sequences: [Int64]) -> [String] {
        var order = AudioOrder()
        return sequences.flatMap { order.take(packet($0)) }.map { step in
            switch step.payload {
            case .packet(let bytes): "\(bytes[0])"
            case .lost(let next): "lost before \(next[0])"
            }
        }
    }

    @Test("reordered packets come in order and duplicates once")
    func reordered() {
        #expect(order([1, 3, 2, 2, 4, 1]) == ["1", "2", "3", "4"])
    }

    @Test("a hole is waited for, then covered")
    func hole() {
        let sequences: [Int64] = [1] + Array(3...13)
        #expect(order(sequences) == ["1", "lost before 3"] + (3...13).map(String.init))
        #expect(order([1] + Array(3...12)) == ["1"])
    }
}
