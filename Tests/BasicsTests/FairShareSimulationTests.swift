import Basics
import Testing

/// Strangers who hold what they get beside friends who need it, in simulated time. The share is that of half-open seats:
/// 200 places, 40 of an address; a place is lost after 5 s without a sign of its client.
@Suite("FairShare under attack")
struct FairShareSimulationTests {
    private struct Place: Hashable {
        var number: Int
        var isFriend: Bool
    }

    /// How friends fared.
    private struct Outcome {
        var came = 0
        var refused = 0
        var displaced = 0
        var success: Double { 1 - Double(refused + displaced) / Double(max(came, 1)) }
    }

    /// Attackers claim in turn, `rate` claims a second of all together, and never use a place. Five friends a second
    /// come, each from its own address, and need a second to use theirs, which they then leave for good.
    private func run(
        _ attackers: [IPAddress], rate: Int, length: Duration, friendsFrom: Duration = .zero, total: Int = 200
    ) -> Outcome {
        var share = FairShare<Place>(total: total, perAddress: 40)
        var outcome = Outcome()
        var attackersEnds: [(end: Instant, place: Place)] = []
        var friendsEnds: [(end: Instant, place: Place)] = []
        var (firstAttacker, firstFriend, number) = (0, 0, 0)
        let tick = Duration.milliseconds(20)
        var now = Instant.zero
        var due = 0.0
        var ticks = 0
        func claim(_ place: Place, _ address: IPAddress) -> Bool {
            switch share.claim(place, from: address, at: now) {
            case .taken: return true
            case .displaced(let other, _):
                if other.isFriend { outcome.displaced += 1 }
                return true
            case .refused:
                if place.isFriend { outcome.refused += 1 }
                return false
            }
        }
        while now < .zero + length {
            while firstAttacker < attackersEnds.count, attackersEnds[firstAttacker].end <= now {
                share.release(attackersEnds[firstAttacker].place, unused: true, at: now)
                firstAttacker += 1
            }
            while firstFriend < friendsEnds.count, friendsEnds[firstFriend].end <= now {
                share.release(friendsEnds[firstFriend].place, at: now)
                firstFriend += 1
            }
            due += Double(rate) * tick.inSeconds
            while due >= 1 {
                due -= 1
                number += 1
                let place = Place(number: number, isFriend: false)
                if claim(place, attackers[number % attackers.count]) {
                    attackersEnds.append((now + .seconds(5), place))
                }
            }
            if ticks % 10 == 0, now >= .zero + friendsFrom {
                outcome.came += 1
                let place = Place(number: outcome.came, isFriend: true)
                // Half of the friends have IPv6, each in a /48 of its own.
                let own = UInt64(outcome.came)
                let address = own % 2 == 0 ? IPAddress.v4(0xC000_0000 | UInt32(own)) : .v6(0x2A00 << 48 | own << 16, 1)
                if claim(place, address) { friendsEnds.append((now + .seconds(1), place)) }
            }
            ticks += 1
            now += tick
        }
        #expect(share.count <= total)
        return outcome
    }

    @Test("Five and sixty addresses keep out fewer than one friend in a hundred", arguments: [5, 60])
    func addresses(_ count: Int) {
        let outcome = run((0..<count).map { .v4(UInt32($0)) }, rate: 300, length: .seconds(30))
        #expect(outcome.came == 150)
        #expect(outcome.success >= 0.99, "\(outcome)")
    }

    @Test("A /48 keeps out fewer than one friend in a hundred, though each of its addresses has at most one place")
    func site() {
        let outcome = run(
            (0..<65536).map { .v6(0x2001_0DB8_0001_0000 | $0, 1) }, rate: 100, length: .seconds(30))
        #expect(outcome.success >= 0.99, "\(outcome)")
    }

    @Test("A friend of the attackers' own /48 comes in by another /56")
    func neighbours() {
        var share = FairShare<Int>(total: 200, perAddress: 40)
        let site: UInt64 = 0x2001_0DB8_0001_0000
        for holder in 0..<180 { _ = share.claim(holder, from: .v6(site | UInt64(holder), 1), at: .zero) }
        #expect(share.claim(1000, from: .v6(site | 0x7700, 1), at: .zero) == .displaced(0))
    }

    /// A thousand addresses with a place each are more than all places, and nothing tells one that comes for the first
    /// time from a friend: until each has shown once that it does not use what it takes (1000 addresses, 40 places a
    /// second: 25 s), friends are kept out; then they are not.
    @Test("A thousand addresses keep out fewer than one friend in a hundred once each has wasted a place")
    func thousand() {
        let outcome = run(
            (0..<1000).map { .v4(UInt32($0)) }, rate: 200, length: .seconds(60), friendsFrom: .seconds(30))
        #expect(outcome.came == 150)
        #expect(outcome.success >= 0.99, "\(outcome)")
    }

    @Test("A thousand addresses with a thousand places keep out fewer than one friend in a hundred from the start")
    func thousandPlaces() {
        let outcome = run((0..<1000).map { .v4(UInt32($0)) }, rate: 250, length: .seconds(16), total: 1000)
        #expect(outcome.success >= 0.99, "\(outcome)")
    }
}
