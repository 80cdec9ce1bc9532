import Basics
import Testing

@testable import Peer

@Suite struct SRTPReplayWindowTests {
    @Test(
        arguments: [
            (nil, 40_000, 40_000), (10, 9, 9), (65_530, 3, 65_539), (65_539, 65_530, 65_530),
            // Nothing comes before rollover counter 0.
            (100, 65_500, 65_500), (5 << 16 | 0x8000, 0x8001, 5 << 16 | 0x8001),
            (5 << 16 | 2, 65_535, 4 << 16 | 65_535),
        ] as [(UInt64?, UInt16, UInt64)])
    func `A sequence number is the one nearest to the newest`(highest: UInt64?, sequence: UInt16, index: UInt64) {
        var window = SRTPReplayWindow()
        if let highest { window.insert(highest) }
        #expect(window.index(of: sequence) == index)
    }

    @Test func `It agrees with a set of all that were there, over random orders and jumps`() {
        var random = SeededRandom(seed: 3711)
        var window = SRTPReplayWindow()
        var all: Set<UInt64> = [5000]
        var highest: UInt64 = 5000
        window.insert(highest)
        var refused = 0
        for _ in 0..<200_000 {
            let step = Int.random(in: 0..<1000, using: &random) == 0 ? 3000 : Int.random(in: -1300...20, using: &random)
            let index = UInt64(max(0, Int(highest) + step))
            let isFine = !all.contains(index) && index + SRTPReplayWindow.size > highest
            if window.allows(index) != isFine { Issue.record("\(index), the newest is \(highest)") }
            guard isFine else {
                refused += 1
                continue
            }
            window.insert(index)
            all.insert(index)
            highest = max(highest, index)
        }
        #expect(refused > 1000 && all.count > 1000)
    }
}
