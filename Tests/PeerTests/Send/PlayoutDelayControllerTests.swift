import Basics
import Testing

@testable import Peer

@Suite("The playout delay requested for repairs")
struct PlayoutDelayControllerTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: (100_000 + milliseconds) * 1_000_000) }

    /// Repairs: milliseconds of the call and by how much the packet was late.
    private func hold(
        _ repairs: [(at: Int64, late: Int64)], roundTrip: Duration = .milliseconds(60)
    ) -> PlayoutDelayController {
        var hold = PlayoutDelayController()
        for repair in repairs {
            hold.repaired(after: .milliseconds(repair.late), roundTrip: roundTrip, at: at(repair.at))
        }
        return hold
    }

    private func held(_ repairs: [(at: Int64, late: Int64)], after milliseconds: Int64) -> Duration {
        var hold = hold(repairs)
        return hold.hold(at: at(milliseconds))
    }

    @Test("Repairs that come with the first request need no delay")
    func early() {
        #expect(held((0..<50).map { (at: Int64($0) * 600, late: 110) }, after: 30_000) == .zero)
    }

    @Test("A single stall changes nothing, a repeated one does")
    func again() {
        #expect(held([(0, 240)], after: 100) == .zero)
        // They belong to one stall.
        #expect(held([(0, 240), (400, 230)], after: 500) == .zero)
        #expect(held([(0, 240), (5000, 170)], after: 5100) == .milliseconds(140))
    }

    @Test("What a second loss of a packet delays is not waited for")
    func secondLoss() {
        var far = hold((0..<9).map { (at: Int64($0) * 3000, late: 240) }, roundTrip: .milliseconds(130))
        let delay = far.hold(at: at(27_000))
        #expect(delay == .zero)
    }

    @Test("The latest repair counts, within a limit")
    func worst() {
        #expect(held([(0, 180), (3000, 250), (6000, 190)], after: 7000) == .milliseconds(150))
        #expect(held([(0, 180), (3000, 900)], after: 7000) == PlayoutDelayController.longest)
    }

    @Test("Old stalls are forgotten; a delay of zero is announced for a while, and nothing on other links")
    func forgotten() {
        var hold = hold([(0, 240), (5000, 200)])
        let first = hold.announcement(at: at(6000))
        #expect(first?.minimum == .milliseconds(140))
        // The first of both is over, and one alone moves nothing.
        let second = hold.announcement(at: at(32_000))
        #expect(second == nil)
        var watched = self.hold([(0, 240), (5000, 200)])
        let last = watched.announcement(at: at(29_000))
        #expect(last?.minimum == .milliseconds(140))
        let over = watched.announcement(at: at(32_000))
        #expect(over?.minimum == .zero)
        let silent = watched.announcement(at: at(40_000))
        #expect(silent == nil)
        var good = PlayoutDelayController()
        let nothing = good.announcement(at: at(0))
        #expect(nothing == nil)
    }

    @Test("Stills are shown as they come; the limit ends with them")
    func stills() {
        var hold = PlayoutDelayController()
        hold.spaced(.seconds(3))
        let still = hold.announcement(at: at(0))
        #expect(still?.value == 50)
        hold.spaced(.milliseconds(33))
        let moving = hold.announcement(at: at(1000))
        #expect(moving?.value == 0xFFF, "the receiver keeps a limit until another is announced")
        let later = hold.announcement(at: at(7000))
        #expect(later == nil)
    }

    @Test("The extension has units of 10 ms and no upper limit")
    func extensionValue() {
        #expect(PlayoutDelay(minimum: .milliseconds(144)).value == 14 << 12 | 0xFFF)
        #expect(PlayoutDelay(minimum: .milliseconds(145)).minimum == .milliseconds(150))
        #expect(PlayoutDelay(minimum: .seconds(100)).value == 0xFF_FFFF)
        #expect(PlayoutDelay(minimum: .seconds(-1)).minimum == .zero)
        #expect(PlayoutDelay(value: 0xFF00_A001).minimum == .milliseconds(100))
    }
}
