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

    @Test("reordered packets are delivered in order, and duplicates once")
    func reordered() {
        #expect(order([1, 3, 2, 2, 4, 1]) == ["1", "2", "3", "4"])
    }

    @Test("a missing packet is awaited, then concealed")
    func hole() {
        let sequences: [Int64] = [1] + Array(3...13)
        #expect(order(sequences) == ["1", "lost before 3"] + (3...13).map(String.init))
        #expect(order([1] + Array(3...12)) == ["1"])
    }

    @Test(
        "packets follow each other without a gap while the estimate of the sender's clock varies, and follow it when it changes"
    )
    func seamless() {
        var order = AudioOrder()
        var times: [Int64] = []
        for sequence in 0..<200 as Range<Int64> {
            var next = packet(sequence % 200)
            let shift: Int64 = sequence < 100 ? sequence % 3 * 40 : 960
            next.captureTime = Instant(ticks: sequence * 960 + shift, at: 48_000)
            times += order.take(next).map(\.timestamp)
        }
        let steps = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(steps.filter { $0 != 960 }.count == 1)
        #expect(abs((times.last ?? 0) - (199 * 960 + 960 - AudioOrder.preSkip)) <= 1)
    }
}
