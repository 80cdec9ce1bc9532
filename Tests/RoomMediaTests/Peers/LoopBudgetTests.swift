import Basics
import Testing

@testable import RoomMedia

@Suite("LoopBudget")
struct LoopBudgetTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    /// Runs turns of 10 ms in which the peer's datagrams would cost `share`, in seconds a second. Returns the share of
    /// the datagrams that were read, and the seconds until the peer was over its budget for too long.
    private func run(_ share: Double, seconds: Int, of budget: inout LoopBudget) -> (read: Double, endedAfter: Double?)
    {
        var (now, read) = (start, 0)
        let turns = seconds * 100
        for turn in 0..<turns {
            now += .milliseconds(10)
            // Ten datagrams a turn, each with a tenth of the cost.
            var spent = Duration.zero
            for _ in 0..<10 where budget.admit(isCheck: false, turn: turn, at: now) {
                read += 1
                budget.noteTurnTime(.seconds(share / 1000))
                spent += .seconds(share / 1000)
            }
            if spent > .zero, budget.charge(spent, at: now) {
                return (Double(read) / Double(10 * (turn + 1)), (now - start).inSeconds)
            }
        }
        return (Double(read) / Double(10 * turns), nil)
    }

    @Test("a peer below its share loses no datagram, and a busy minute is forgiven")
    func modest() {
        var budget = LoopBudget(share: 0.2, at: start)
        let quiet = run(0.02, seconds: 60, of: &budget)
        #expect(quiet.read == 1 && quiet.endedAfter == nil && budget.dropped == 0)
        var full = LoopBudget(share: 0.2, at: start)
        let busy = run(0.19, seconds: 60, of: &full)
        #expect(busy.read == 1 && busy.endedAfter == nil)
    }

    @Test("a peer that costs more gets its share, and is ended after five seconds", arguments: [0.5, 1, 5])
    func greedy(share: Double) throws {
        var budget = LoopBudget(share: 0.2, at: start)
        let (read, ended) = run(share, seconds: 60, of: &budget)
        let after = try #require(ended)
        #expect((5...12).contains(after), "\(after) s")
        // The burst comes on top.
        #expect(read * share < 0.2 + 0.25 / after * 2.5, "\(read * share) of a core")
        #expect(budget.dropped > 0)
    }

    @Test("one long turn, as of a stalled machine, ends no peer")
    func stall() {
        var budget = LoopBudget(share: 0.2, at: start)
        var now = start
        for turn in 0..<3000 {
            now += .milliseconds(20)
            _ = budget.admit(isCheck: false, turn: turn, at: now)
            // 2 s of the clock at once, every 10 s.
            let spent = turn % 500 == 0 ? Duration.seconds(2) : .microseconds(100)
            let isEnded = budget.charge(spent, at: now)
            #expect(!isEnded, "turn \(turn)")
        }
    }

    @Test("a few connectivity checks pass while all other datagrams are dropped")
    func checks() {
        var budget = LoopBudget(share: 0.2, at: start)
        func admits(_ isCheck: Bool, after milliseconds: Int) -> Bool {
            budget.admit(isCheck: isCheck, turn: milliseconds, at: start + .milliseconds(milliseconds))
        }
        _ = budget.charge(.seconds(3), at: start)
        #expect(!admits(false, after: 0))
        let passed = (0..<100).count { _ in admits(true, after: 0) }
        #expect(passed == 8)
        #expect(admits(true, after: 300))
        #expect(!admits(false, after: 1000))
        #expect(admits(false, after: 2000), "it is paid back")
    }

    @Test("no peer takes a whole turn")
    func turns() {
        var budget = LoopBudget(share: 1, at: start)
        var read = 0
        for _ in 0..<256 where budget.admit(isCheck: false, turn: 7, at: start) {
            read += 1
            budget.noteTurnTime(.milliseconds(1))
        }
        #expect(read == LoopBudget.turnDatagrams)
        // The next turn has its share for the peer again, and many cheap datagrams (a keyframe) pass.
        let next = (0..<256).count { _ in budget.admit(isCheck: false, turn: 8, at: start) }
        #expect(next == 256)
    }
}

@Suite("LoopTurns")
struct LoopTurnsTests {
    private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

    @Test("the longest turn of the last 15 s is reported beside the longest of all")
    func longest() {
        let turns = LoopTurns()
        turns.took(.milliseconds(80), processor: .milliseconds(3), at: at(100.2))
        turns.took(.milliseconds(20), processor: .milliseconds(19), at: at(100.7))
        #expect(turns.longest == LoopTurns.Longest(wall: .milliseconds(80), processor: .milliseconds(3)))
        #expect(turns.longestLately(at: at(101)).wall == .milliseconds(80))
        turns.took(.milliseconds(5), processor: .milliseconds(5), at: at(114))
        #expect(turns.longestLately(at: at(114.9)).wall == .milliseconds(80))
        #expect(
            turns.longestLately(at: at(115.1)) == LoopTurns.Longest(wall: .milliseconds(5), processor: .milliseconds(5))
        )
        #expect(turns.longestLately(at: at(140)) == LoopTurns.Longest())
        // 16 s later the same index of the ring belongs to another second.
        turns.took(.milliseconds(2), processor: .milliseconds(1), at: at(130))
        #expect(turns.longestLately(at: at(130)).wall == .milliseconds(2))
        #expect(turns.longest.wall == .milliseconds(80))
    }

    @Test("the histogram counts each turn once, and all of them below infinity")
    func histogram() {
        let loops = [LoopTurns(), LoopTurns()]
        for (number, milliseconds) in [0.5, 1, 1.5, 12, 700].enumerated() {
            loops[number % 2].took(.seconds(milliseconds / 1000), processor: .zero, at: at(1))
        }
        let samples = LoopTurns.samples(of: loops, at: at(1))
        let longest = samples.first {
            $0.name == "tessera_loop_turn_longest_seconds" && $0.labels == ["window": "start", "clock": "wall"]
        }
        #expect(longest?.value == 0.7)
        let buckets = samples.filter { $0.name == "tessera_loop_turn_seconds_bucket" }
        #expect(buckets.map(\.value) == [2, 3, 3, 3, 4, 4, 4, 4, 5])
        #expect(buckets.last?.labels == ["le": "+Inf"])
    }
}
