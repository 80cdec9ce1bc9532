import Basics
import Testing

@testable import Peer

@Suite("How often a source is answered")
struct ReplyLimiterTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func source(_ number: UInt16) -> SocketAddress { SocketAddress(.v4(0xC000_0201), port: number) }

    private func answers(_ limiter: inout ReplyLimiter, to number: UInt16, asked count: Int, at now: Instant) -> Int {
        var answers = 0
        for _ in 0..<count where limiter.allows(source(number), at: now) { answers += 1 }
        return answers
    }

    @Test("Each source has the replies of a second at once and its rate from then on, independent of others")
    func rate() {
        var limiter = ReplyLimiter(perSecond: 5)
        let atOnce = (1...3).map { answers(&limiter, to: $0, asked: 20, at: start) }
        let later = answers(&limiter, to: 1, asked: 20, at: start + .milliseconds(400))
        #expect(atOnce == [5, 5, 5] && later == 2)
    }

    @Test("Of the 64 sources that are remembered the one that was silent for the longest is replaced")
    func sources() {
        var limiter = ReplyLimiter(perSecond: 1)
        for number in 0..<64 as Range<UInt16> {
            _ = limiter.allows(source(number), at: start + .microseconds(Int64(number)))
        }
        // The first source asks again and is refused; so the second has been silent for the longest when one more
        // comes.
        let now = start + .milliseconds(1)
        let first = answers(&limiter, to: 0, asked: 1, at: now)
        let added = answers(&limiter, to: 64, asked: 1, at: now)
        let kept = answers(&limiter, to: 0, asked: 1, at: now)
        let forgotten = answers(&limiter, to: 1, asked: 1, at: now)
        #expect([first, added, kept, forgotten] == [0, 1, 0, 1])
    }
}
