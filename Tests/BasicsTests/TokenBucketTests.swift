import Basics
import Testing

@Suite struct TokenBucketTests {
    private let start = Instant.zero + .seconds(10)

    private func taken(_ bucket: inout TokenBucket, _ count: Int, at now: Instant) -> Int {
        var taken = 0
        for _ in 0..<count where bucket.take(at: now) { taken += 1 }
        return taken
    }

    @Test("A full bucket gives its size at once, and then its rate") func rate() {
        var bucket = TokenBucket(rate: 2, size: 4, at: start)
        let atOnce = taken(&bucket, 6, at: start)
        #expect(atOnce == 4)
        #expect(bucket.wait(at: start) == .milliseconds(500))
        let early = taken(&bucket, 1, at: start + .milliseconds(499))
        let later = taken(&bucket, 2, at: start + .milliseconds(501))
        #expect((early, later) == (0, 1))
    }

    @Test("Spending beyond the tokens makes a debt of at most the size") func debt() {
        var bucket = TokenBucket(rate: 1, size: 2, at: start)
        let isCovered = [1.0, 100].map { bucket.spend($0, at: start) }
        #expect(isCovered == [true, false])
        #expect(bucket.isOverdrawn(at: start + .seconds(1)))
        #expect(!bucket.isOverdrawn(at: start + .seconds(2)))
        let early = taken(&bucket, 1, at: start + .milliseconds(2500))
        let later = taken(&bucket, 1, at: start + .milliseconds(3100))
        #expect((early, later) == (0, 1))
    }

    @Test("A larger debt can be allowed, which is paid back at the rate") func largeDebt() {
        var bucket = TokenBucket(rate: 5, size: 2, at: start)
        for _ in 0..<12 { bucket.spend(1, maxDebt: 25, at: start) }
        #expect(bucket.wait(at: start) == .milliseconds(2200))
        bucket.spend(100, maxDebt: 25, at: start)
        #expect(bucket.wait(at: start) == .milliseconds(5200))
    }

    @Test("A clock that stands still or goes back adds no tokens") func clock() {
        var bucket = TokenBucket(rate: 1000, size: 1, at: start)
        let counts = [start, start - .seconds(60), start].map { taken(&bucket, 1, at: $0) }
        #expect(counts == [1, 0, 0])
        #expect(bucket.isFull(at: start + .seconds(1)))
    }
}

@Suite struct AddressTallyTests {
    private let one = IPAddress.v4(0x0A00_0001)
    private let two = IPAddress.v4(0x0A00_0002)

    @Test("Each address has its own cap, and all have one together") func caps() {
        var tally = AddressTally(limit: 3, perAddress: 2)
        let refusals = [one, one, one, two, two, nil].map { tally.add($0) }
        #expect(refusals == [nil, nil, .address, nil, .total, .total])
        #expect(tally.refused == [.address: 1, .total: 2])
        let asked = [one, two, nil].map { tally.refusal(of: $0) }
        #expect(asked == [.address, .total, .total])
        #expect(tally.refused == [.address: 1, .total: 2], "asking refuses nothing")
        tally.remove(one)
        #expect(tally.count == 2)
        #expect(tally.count(of: one) == 1)
        let afterwards = tally.add(two)
        #expect(afterwards == nil)
    }

    @Test("An IPv6 /64 is one client, and an IPv4-mapped address is IPv4") func clients() {
        var tally = AddressTally(limit: 10, perAddress: 1)
        let network: UInt64 = 0x2001_0DB8_0000_0001
        let addresses: [IPAddress] = [
            .v6(network, 1), .v6(network, 2), .v6(network + 1, 1), one, .v6(0, 0xFFFF_0A00_0001),
        ]
        let refusals = addresses.map { tally.add($0) }
        #expect(refusals == [nil, .address, nil, nil, .address])
    }
}
