import Basics
import Testing

@testable import Peer

@Suite("Which SSRCs of a peer get a stream")
struct SourceTableTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)

    private func table() -> SourceTable { SourceTable(PeerBudget(), at: start) }

    /// A packet that proves authentic, if it is looked into.
    @discardableResult
    private func hear(_ number: UInt32, _ table: inout SourceTable, at now: Instant) -> Bool {
        let ssrc = SSRC(number)
        guard table.admits(ssrc, at: now) else { return false }
        _ = table.noteAuthentic(ssrc, at: now)
        return true
    }

    @Test("The streams of a call begin together, at once")
    func beginning() {
        var table = table()
        let heard = (0..<16).count { hear(UInt32($0), &table, at: start) }
        #expect(heard == 16)
        #expect(table.count == 16)
    }

    @Test("One SSRC per packet makes two streams a second, and never more than the table holds")
    func rotation() {
        var table = table()
        var made = 0
        for step in 0..<60_000 {
            if hear(UInt32(step), &table, at: start + .milliseconds(step)) { made += 1 }
        }
        #expect((130...160).contains(made), "\(made)")
        #expect(table.count <= SourceTable.capacity)
        #expect(table.refused > 59_000)
    }

    @Test("A peer that changes its SSRC is accepted at once, however often it did; the longest silent is evicted")
    func changes() {
        var table = table()
        var now = start
        hear(1, &table, at: now)
        for ssrc in UInt32(2)..<500 {
            now += .seconds(1)
            let isHeard = hear(ssrc, &table, at: now)
            #expect(isHeard)
            hear(1, &table, at: now)
        }
        #expect(table.count == SourceTable.capacity)
        let goesOn = hear(1, &table, at: now)
        let isOldHeard = hear(2, &table, at: now)
        #expect(goesOn)
        #expect(!isOldHeard, "what lost its place has lost its replay list, and is not heard again")
        #expect(table.forgottenCount == 499 - SourceTable.capacity)
    }

    @Test("A source that the description names keeps its place in silence, and gets it without waiting")
    func named() {
        var table = table()
        table.protect([7, 8])
        for ssrc in UInt32(100)..<132 { hear(ssrc, &table, at: start) }
        let isOtherHeard = hear(200, &table, at: start)
        let isNamedHeard = hear(7, &table, at: start)
        #expect(!isOtherHeard && isNamedHeard)
        var now = start
        for ssrc in UInt32(1000)..<1200 {
            now += .seconds(1)
            hear(ssrc, &table, at: now)
        }
        let isStillHeard = hear(7, &table, at: now)
        #expect(isStillHeard)
    }

    @Test("Packets under unknown SSRCs that are not authentic cost no place, and few attempts")
    func forged() {
        var table = table()
        let attempts = (0..<10_000).count { table.admits(SSRC(UInt32($0) &+ 5000), at: start) }
        #expect(attempts == Int(PeerBudget().unknownSources))
        #expect(table.count == 0 && !table.isExhausted)
        table.protect([7])
        let isNamedHeard = hear(7, &table, at: start)
        #expect(isNamedHeard)
    }

    @Test("While all sources are active, another one gets no place")
    func full() {
        var table = table()
        table.protect((0..<32).map { SSRC($0) })
        for ssrc in UInt32(0)..<64 { hear(ssrc, &table, at: start) }
        #expect(table.count == 64)
        let isHeard = hear(99, &table, at: start + .seconds(1))
        let isHeardLater = hear(99, &table, at: start + .seconds(7))
        #expect(!isHeard && isHeardLater)
    }

    @Test("A peer uses up its SSRCs")
    func lifetime() {
        var table = table()
        var now = start
        for ssrc in UInt32(0)..<5000 {
            now += .seconds(1)
            hear(ssrc, &table, at: now)
        }
        #expect(table.isExhausted)
        #expect(table.count + table.forgottenCount == SourceTable.lifetime)
    }
}
