import Basics
import Testing

@testable import Streaming

@Suite struct RetryLadderTests {
    private let start = Instant(nanoseconds: 5_000_000_000)

    /// The times of the attempts in whole seconds after the loss, each of which fails at once.
    private func attempts(for limit: Duration) -> [Int64] {
        var ladder = RetryLadder(for: limit)
        var (now, found): (Instant, [Int64]) = (start, [])
        while case .retry(let next) = ladder.failed(at: now), found.count < 1000 {
            now = next
            found.append((now - start).nanoseconds / 1_000_000_000)
        }
        return found
    }

    @Test func `Attempts become rarer, and end`() {
        #expect(attempts(for: .seconds(130)) == [1, 3, 8, 18, 28, 38, 48, 58, 88, 118])
        #expect(attempts(for: .zero).isEmpty)
        #expect(attempts(for: .seconds(600)).last == 598)
    }

    @Test func `A connection that lasts begins anew, one that is refused at once does not`() {
        var ladder = RetryLadder(for: .seconds(60))
        #expect(ladder.failed(at: start) == .retry(at: start + .seconds(1)))
        ladder.connected(at: start + .seconds(1))
        #expect(ladder.failed(at: start + .seconds(2)) == .retry(at: start + .seconds(4)))
        #expect(ladder.attempts == 2)
        ladder.connected(at: start + .seconds(4))
        #expect(ladder.failed(at: start + .seconds(100)) == .retry(at: start + .seconds(101)))
        #expect(ladder.attempts == 1)
    }
}
