import Basics
import Testing

@Suite("Sliding minimum") struct SlidingMinimumTests {
    private static let window: Duration = .seconds(1)

    @Test("The value is the smallest of the window; the newest is never dropped")
    func smallest() {
        var minimum = SlidingMinimum()
        #expect(minimum.value == nil)
        var seen: [Int64?] = []
        for (milliseconds, value) in [(0, 5), (100, 3), (200, 4), (1150, 9), (1250, 8), (9000, 20)] as [(Int, Int64)] {
            minimum.insert(value, at: .zero + .milliseconds(milliseconds), window: Self.window)
            seen.append(minimum.value)
        }
        #expect(seen == [5, 3, 3, 4, 8, 20])
    }

    @Test("Values that only rise take bounded memory and keep the smallest")
    func rising() {
        var minimum = SlidingMinimum()
        for value in 0..<5000 as Range<Int64> {
            minimum.insert(value, at: Instant(nanoseconds: value), window: Self.window)
        }
        #expect(minimum.value == 0)
    }
}
