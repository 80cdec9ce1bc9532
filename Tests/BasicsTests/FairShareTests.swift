import Basics
import Testing

@Suite("FairShare")
struct FairShareTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let large = IPAddress.v4(1)
    private let small = IPAddress.v4(2)

    /// A share of ten places whose nine open ones one address holds idle, 0 first, and the kept one another.
    private func full() -> FairShare<Int> {
        var share = FairShare<Int>(total: 10)
        for holder in 0..<9 { #expect(share.claim(holder, from: large, at: start) == .taken) }
        #expect(share.claim(9, from: small, at: start) == .taken)
        return share
    }

    @Test("The newcomer displaces the oldest idle holder of the address that has most")
    func displaces() {
        var share = full()
        share.use(0)
        #expect(share.claim(20, from: .v4(3), at: start) == .displaced(1))
        #expect(share.count == 10 && share.holds(20) && !share.holds(1))
        #expect(share.displaced == 1)
        share.rest(0)
        #expect(
            share.claim(21, from: .v4(4), at: start) == .displaced(2), "0 is idle again, but not for the longest time")
    }

    @Test("A holder that is in use is never displaced")
    func busy() {
        var share = full()
        for holder in 0..<10 { share.use(holder) }
        #expect(share.claim(20, from: .v4(3), at: start) == .refused(.total))
        #expect(share.refused == [.total: 1] && share.idleCount == 0)
        share.release(4, at: start)
        #expect(share.claim(20, from: .v4(3), at: start) == .taken)
    }

    @Test("An address that has no more than the newcomer would have loses nothing")
    func guarded() {
        var share = FairShare<Int>(total: 10)
        for holder in 0..<10 { #expect(share.claim(holder, from: .v4(UInt32(holder)), at: start) == .taken) }
        #expect(share.claim(20, from: .v4(100), at: start) == .refused(.total))
        #expect(share.claim(20, from: .v4(3), at: start) == .displaced(3), "its own is no other's")
    }

    @Test("Where all claims of a large address are in use but one, small ones with more idle holders lose first")
    func idleCountsFirst() {
        var share = FairShare<Int>(total: 20)
        for holder in 0..<12 { _ = share.claim(holder, from: large, isIdle: holder == 11, at: start) }
        for holder in 12..<18 { _ = share.claim(holder, from: small, at: start) }
        _ = share.claim(18, from: .v4(18), at: start)
        #expect(share.count == 19, "the last one is for administrators")
        #expect(share.claim(30, from: .v4(3), at: start) == .displaced(12))
    }

    @Test("A tenth is kept for addresses that have nothing, for those inside, and a part of it for administrators")
    func kept() {
        var share = FairShare<Int>(total: 80)
        #expect(share.kept == 8)
        for holder in 0..<72 { #expect(share.claim(holder, from: large, isIdle: false, at: start) == .taken) }
        #expect(share.claim(72, from: large, at: start) == .refused(.total))
        #expect(share.claim(72, from: large, as: .inside, isIdle: false, at: start) == .taken)
        for holder in 73..<78 {
            #expect(share.claim(holder, from: .v4(UInt32(holder)), isIdle: false, at: start) == .taken)
        }
        #expect(share.claim(78, from: .v4(78), at: start) == .refused(.total))
        #expect(share.claim(78, from: large, as: .inside, at: start) == .refused(.total))
        #expect(share.claim(78, from: large, as: .administrator, at: start) == .taken)
        #expect(share.claim(79, from: large, as: .administrator, at: start) == .taken)
        #expect(share.claim(80, from: large, as: .administrator, at: start) == .refused(.total))
    }

    @Test("An administrator displaces the idle of any address, and is displaced by nobody")
    func administrators() {
        var share = FairShare<Int>(total: 10)
        for holder in 0..<10 { _ = share.claim(holder, from: .v4(UInt32(holder)), at: start) }
        #expect(share.claim(20, from: large, as: .administrator, at: start) == .displaced(0))
        #expect(share.idleCount == 9)
        for holder in 1..<10 { share.use(holder) }
        #expect(share.claim(21, from: .v4(30), as: .administrator, at: start) == .refused(.total))
    }

    @Test("A full address displaces its own idle holders, and is refused where it has none")
    func perAddress() {
        var share = FairShare<Int>(total: 100, perAddress: 2)
        #expect(share.claim(1, from: large, at: start) == .taken)
        #expect(share.claim(2, from: large, at: start) == .taken)
        #expect(share.claim(3, from: large, at: start) == .displaced(1))
        share.use(2)
        share.use(3)
        #expect(share.claim(4, from: large, at: start) == .refused(.address))
        for holder in 5..<10 { #expect(share.claim(holder, from: nil, at: start) == .taken) }
    }

    @Test("Where an idle holder is one who waits, an address displaces only others' holders")
    func waiters() {
        var share = FairShare<Int>(total: 10, perAddress: 9, replacesOwn: false)
        for holder in 0..<9 { #expect(share.claim(holder, from: large, at: start) == .taken) }
        #expect(share.claim(20, from: large, at: start) == .refused(.address))
        #expect(share.claim(9, from: small, at: start) == .taken)
        share.release(0, at: start)
        #expect(share.claim(20, from: large, at: start) == .refused(.total), "the last place is kept")
        #expect(share.claim(21, from: .v4(3), at: start) == .taken)
        #expect(share.claim(22, from: small, at: start) == .displaced(1))
        #expect(share.claim(23, from: large, at: start) == .refused(.total))
    }

    @Test("A site with a /48 counts as one, whatever /64 its holders have; within it the /56 and /64 with most lose")
    func prefixes() {
        var share = FairShare<Int>(total: 10)
        let site: UInt64 = 0x2001_0DB8_0001_0000
        for holder in 0..<9 {
            // Three are in one /56, each in a /64 of its own.
            let net = holder < 7 ? UInt64(holder) << 8 : 0x0300 | UInt64(holder)
            _ = share.claim(holder, from: .v6(site | net, 1), at: start)
        }
        _ = share.claim(9, from: small, at: start)
        #expect(share.claim(20, from: .v4(3), at: start) == .displaced(3))
        #expect(share.claim(21, from: .v6(site | 0x7700, 1), at: start) == .displaced(7), "another of the site")
        #expect(share.claim(22, from: .v6(site | 0x0500, 2), at: start) == .displaced(5), "none of the site has more")
    }

    @Test("An IPv4-mapped address is IPv4, and an IPv6 client is its /64")
    func mapped() {
        var share = FairShare<Int>(total: 10, perAddress: 1)
        #expect(share.claim(1, from: .v4(0x0A00_0001), isIdle: false, at: start) == .taken)
        #expect(share.claim(2, from: .v6(0, 0xFFFF_0A00_0001), at: start) == .refused(.address))
        #expect(share.claim(3, from: .v6(7 << 32, 1), isIdle: false, at: start) == .taken)
        #expect(share.claim(4, from: .v6(7 << 32, 2), at: start) == .refused(.address))
        #expect(share.claim(5, from: .v6(7 << 32 | 1, 2), at: start) == .taken)
    }

    @Test("A place whose time ran out unused counts for another minute")
    func lapses() {
        var share = FairShare<Int>(total: 10)
        for holder in 0..<9 { _ = share.claim(holder, from: .v4(UInt32(holder)), at: start) }
        share.release(5, unused: true, at: start)
        #expect(share.claim(5, from: .v4(5), at: start) == .taken, "one is left, of the nine that are for all")
        #expect(share.claim(9, from: .v4(9), at: start) == .taken)
        #expect(share.claim(20, from: .v4(20), at: start) == .displaced(5))
        let later = start + FairShare<Int>.lapseMemory
        #expect(share.claim(21, from: .v4(21), at: later) == .refused(.total))
    }

    @Test("Where nobody may be displaced, the holder that was abandoned first gives way, whosever it is")
    func abandoned() {
        var share = FairShare<Int>(total: 10)
        for holder in 0..<10 { #expect(share.claim(holder, from: .v4(UInt32(holder)), at: start) == .taken) }
        share.use(4)
        for holder in [7, 4, 2] { share.abandon(holder) }
        share.abandon(7)
        #expect(share.claim(20, from: .v4(20), at: start) == .displaced(7, wasAbandoned: true))
        share.revive(4)
        #expect(
            share.claim(21, from: .v4(21), at: start) == .displaced(2, wasAbandoned: true),
            "somebody has come to 4 again")
        share.abandon(4)
        share.use(4)
        #expect(share.claim(22, from: .v4(22), at: start) == .refused(.total))
        share.abandon(4)
        share.release(4, at: start)
        share.add(4, from: .v4(4))
        #expect(share.claim(22, from: .v4(22), at: start) == .refused(.total), "a new place is not the abandoned one")
    }

    @Test("An abandoned holder of a larger address goes first, and an administrator's is never abandoned")
    func abandonedOfLarger() {
        var share = full()
        share.abandon(9)
        #expect(share.claim(20, from: .v4(3), at: start) == .displaced(0))
        var boards = FairShare<Int>(total: 2)
        for holder in 0..<2 { _ = boards.claim(holder, from: large, as: .administrator, at: start) }
        boards.abandon(0)
        #expect(boards.claim(20, from: .v4(3), at: start) == .refused(.total))
    }

    @Test("To claim twice, to release twice, and to change who has no place changes nothing")
    func idempotent() {
        var share = full()
        #expect(share.claim(3, from: small, at: start) == .taken && share.count(of: small) == 1)
        share.use(3)
        share.use(3)
        #expect(share.idleCount == 9)
        share.rest(99)
        share.release(99, unused: true, at: start)
        share.release(3, at: start)
        share.release(3, at: start)
        #expect(share.count == 9 && share.count(of: large) == 8 && share.idleCount == 9)
        for holder in 0..<10 { share.release(holder, at: start) }
        #expect(share.count == 0 && share.idleCount == 0 && share.count(of: large) == 0)
    }
}
