import Basics
import Testing

@testable import Peer

@Suite("How long to wait for a missing packet") struct RepairDeadlineTests {
    private static let reordering = Duration.milliseconds(10)
    private static let gap = NackList.Entry(sequence: 7, noticed: .zero + .seconds(1), due: .zero + .seconds(1))

    private func repair(roundTrip milliseconds: Int64) -> RepairDeadline {
        var repair = RepairDeadline(VideoReceiveConfiguration())
        repair.setRoundTrip(.milliseconds(milliseconds))
        return repair
    }

    @Test(
        "Five requests, within limits that grow with the round trip",
        arguments: [(10, 210), (40, 250), (70, 400), (160, 400), (200, 500), (300, 600)] as [(Int64, Int64)])
    func hold(roundTrip: Int64, hold: Int64) {
        #expect(repair(roundTrip: roundTrip).hold(reorderDelay: Self.reordering) == .milliseconds(hold))
    }

    @Test("While the repairs of its burst arrive, a gap is not abandoned")
    func burst() {
        var repair = repair(roundTrip: 60)
        let plain = repair.deadline(of: Self.gap, reorderDelay: Self.reordering)
        #expect(plain == Self.gap.noticed + .milliseconds(350))
        repair.repaired(noticed: Self.gap.noticed, at: plain - .milliseconds(5))
        #expect(repair.deadline(of: Self.gap, reorderDelay: Self.reordering) == plain + .milliseconds(55))
        repair.repaired(noticed: Self.gap.noticed - .milliseconds(1), at: plain - .milliseconds(5))
        #expect(repair.deadline(of: Self.gap, reorderDelay: Self.reordering) == plain)
    }

    @Test("A keyframe is requested beside the repair only if there is no time for a third request, once")
    func hedge() {
        #expect(repair(roundTrip: 60).hedge(of: Self.gap, reorderDelay: Self.reordering) == nil)
        var far = repair(roundTrip: 140)
        #expect(far.hedge(of: Self.gap, reorderDelay: Self.reordering) == Self.gap.noticed + .milliseconds(185))
        far.hedged(Self.gap)
        #expect(far.hedge(of: Self.gap, reorderDelay: Self.reordering) == nil)
    }
}
