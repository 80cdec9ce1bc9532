import Basics
import Simulation
import Testing

@testable import Scenarios

@Suite("XOR packets")
struct VideoProtectionTests {
    /// The packets that each XOR packet covers, for frames with these numbers of packets.
    private func groups(_ protection: VideoProtection, frames: [Int]) -> [[Int]] {
        var writer = ParityWriter(protection)
        var sequence = -1
        return frames.flatMap { count in
            (1...count).flatMap { packet in
                sequence += 1
                return writer.sent(sequence, endsFrame: packet == count)
            }
        }
    }

    @Test("A row has a fixed number of packets, regardless of frames")
    func rows() {
        #expect(groups(.rows(3), frames: [2, 2, 3]) == [[0, 1, 2], [3, 4, 5]])
        #expect(groups(.none, frames: [2, 2, 3]) == [])
    }

    @Test("A frame's XOR packets cover that frame only, and adjacent packets by different ones")
    func frames() {
        #expect(groups(.frames(3), frames: [2, 7]) == [[0, 1], [2, 5, 8], [3, 6], [4, 7]])
    }

    @Test("A block protects its columns, and optionally its rows")
    func blocks() {
        #expect(groups(.columns(3, rows: 2), frames: [8]) == [[0, 3], [1, 4], [2, 5]])
        #expect(
            groups(.matrix(columns: 3, rows: 2), frames: [6, 3]) == [
                [0, 1, 2], [0, 3], [1, 4], [3, 4, 5], [2, 5], [6, 7, 8],
            ])
    }

    /// The packets that stay missing when these are lost and every XOR packet is received.
    private func missing(_ protection: VideoProtection, packets: Int, lost: Set<Int>) -> [Int] {
        var reader = ParityReader()
        for sequence in 0..<packets where !lost.contains(sequence) { _ = reader.insert(sequence) }
        for group in groups(protection, frames: [packets]) { _ = reader.insert(covering: group) }
        return (0..<packets).filter { !reader.has.contains($0) }
    }

    @Test("A row recovers exactly one loss", arguments: 0..<5)
    func oneLoss(lost: Int) {
        #expect(missing(.rows(5), packets: 5, lost: [lost]) == [])
        let other = (lost + 2) % 5
        #expect(missing(.rows(5), packets: 5, lost: [lost, other]) == [lost, other].sorted())
    }

    @Test("Columns recover two losses of a row, and a recovered packet enables further rows")
    func matrix() {
        #expect(missing(.matrix(columns: 5, rows: 5), packets: 25, lost: [6, 8]) == [])
        // 6 and 8 are in one row, 11 is below 6: row three recovers 11, then column one 6, then row two 8.
        #expect(missing(.matrix(columns: 5, rows: 5), packets: 25, lost: [6, 8, 11]) == [])
        // Four corners of a rectangle have two in every row and column.
        #expect(missing(.matrix(columns: 5, rows: 5), packets: 25, lost: [6, 8, 16, 18]) == [6, 8, 16, 18])
    }

    @Test("Columns recover a burst as long as a row, and no longer one")
    func burst() {
        #expect(missing(.columns(8, rows: 5), packets: 40, lost: Set(13..<21)) == [])
        #expect(missing(.columns(8, rows: 5), packets: 40, lost: Set(13..<22)) == [13, 21])
    }

    @Test("A retransmission lets an earlier XOR packet recover the rest")
    func later() {
        var reader = ParityReader()
        #expect(reader.insert(0) == [0])
        #expect(reader.insert(covering: [0, 1, 2]) == [])
        #expect(reader.insert(2) == [2, 1])
        #expect(reader.insert(1) == [])
    }
}

@Suite("Retransmission and XOR packets")
struct RepairTrialTests {
    private func statistics(
        _ loss: LossModel, _ protection: VideoProtection = .none, roundTrip: Int = 200, shape: VideoShape = .large,
        seed: UInt64 = 7,
        retransmits: Bool = true
    ) -> RepairStatistics {
        RepairTrial(
            shape: shape, loss: loss, roundTrip: .milliseconds(roundTrip), protection: protection,
            retransmits: retransmits
        ).run(frames: 3000, seed: seed)
    }

    @Test("Without loss there are no retransmissions and no late frames")
    func noLoss() {
        let statistics = statistics(.none)
        #expect(statistics.repairs == 0 && statistics.parity == 0)
        #expect(statistics.late == [0, 0, 0] && statistics.broken == 0 && statistics.freezes == 0)
        #expect(statistics.p99 == 0)
    }

    @Test(
        "XOR packets have the configured overhead and delay no frame",
        arguments: [.rows(10), .rows(5), .rows(3), .columns(8, rows: 5), .matrix(columns: 5, rows: 5)]
            as [VideoProtection])
    func overhead(protection: VideoProtection) throws {
        let overhead = try #require(protection.overhead)
        for loss in [LossModel.none, .random(0.05)] {
            #expect(abs(statistics(loss, protection).parity - overhead * 100) < 0.5)
        }
        #expect(statistics(.none, protection).p99 == 0)
    }

    @Test("Equal seeds give equal results, another seed others")
    func deterministic() {
        let burst = LossModel.bursts(GilbertElliott(averageLoss: 0.05, burstLength: 8))
        #expect(statistics(burst, .rows(5)) == statistics(burst, .rows(5)))
        #expect(statistics(burst, .rows(5)) != statistics(burst, .rows(5), seed: 8))
    }

    @Test("Retransmissions cost as much as the losses, including lost retransmissions", arguments: [0.02, 0.05, 0.10])
    func cost(part: Double) {
        let repairs = statistics(.random(part)).repairs
        #expect(abs(repairs - 100 * part / (1 - part)) < 0.6)
        #expect(statistics(.random(part)).broken == 0)
    }

    @Test("A repair takes one round trip per attempt")
    func roundTrips() {
        let near = statistics(.random(0.02), roundTrip: 20)
        #expect(near.late[1] < 0.2 && near.late[0] < 5)
        let far = statistics(.random(0.02), roundTrip: 200)
        // The gap shows a millisecond later, within a frame.
        #expect((200...235).contains(far.p95))
        #expect(far.p99 > 235)
    }

    @Test("The streams have the rates of their names")
    func rates() {
        for (shape, rate) in [(VideoShape.large, 1_200_000.0), (.small, 400_000)] {
            var random = SeededRandom(seed: 1)
            let packets = (0..<30_000).reduce(0) { sum, _ in sum + shape.packets(using: &random) }
            #expect(abs(Double(packets) / 1000 * 1200 * 8 / rate - 1) < 0.03)
        }
    }

    @Test("At a long round trip XOR packets help more than they cost against random loss, but not against bursts")
    func decision() {
        let far = statistics(.random(0.05)), farProtected = statistics(.random(0.05), .rows(5))
        #expect(farProtected.late[1] < far.late[1] / 3)
        #expect(farProtected.freezes < far.freezes / 2)
        let near = statistics(.random(0.05), roundTrip: 20)
        #expect(near.late[1] < 0.5 && near.freezes == 0)
        let burst = LossModel.bursts(GilbertElliott(averageLoss: 0.05, burstLength: 8))
        #expect(statistics(burst, .rows(5)).late[1] > statistics(burst).late[1] / 2)
        #expect(
            statistics(burst, .rows(5), retransmits: false).broken > statistics(burst, retransmits: false).broken * 0.7)
    }

    @Test("The table has a row for each stream, link and round trip")
    func table() {
        let table = protectionTable(frames: 60)
        let rows = table.split(separator: "\n").filter { $0.hasPrefix("| ") }
        #expect(rows.count == 1 + 2 * 4 + 1 + 2 * 4 * 5)
        #expect(rows.allSatisfy { $0.count { $0 == "|" } == 10 || $0.count { $0 == "|" } == 9 })
    }
}
