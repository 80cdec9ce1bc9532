import Basics
import Testing

@testable import WebServer

@Suite struct SharePlacesTests {
    /// Time that a test sets.
    private final class Clock: Sendable {
        let now = Guarded(Instant.zero)
        func pass(_ seconds: Int) { now.withLock { $0 = $0 + .seconds(seconds) } }
    }

    private let clock = Clock()

    private func places(total: Int, perAddress: Int) -> SharedLimit {
        SharedLimit("test", total: total, perAddress: perAddress) { [clock] in clock.now.withLock { $0 } }
    }

    /// Addresses of strangers who take all that they get.
    enum Strangers: String, CaseIterable, CustomTestStringConvertible {
        case five, sixty, network
        func address(_ number: Int) -> IPAddress {
            switch self {
            case .five: .v4(0xCB00_7100 + UInt32(number % 5))
            case .sixty: .v4(0xCB00_7100 + UInt32(number % 60))
            case .network: .v6(0x2001_0DB8_0001_0000 + UInt64(number % 65_536), 1)
            }
        }
        var testDescription: String { rawValue }
    }

    /// Strangers ask ten times a second for all places and keep what they get. A friend reads for ten seconds at a
    /// time, each from an address of its own.
    @Test(arguments: Strangers.allCases)
    func `friends find a place among strangers who take all that they get`(strangers: Strangers) {
        let places = places(total: 200, perAddress: 64)
        var held: [SharedLimit.Permit] = []
        var (friends, refused, lost, asked) = ([SharedLimit.Permit](), 0, 0, 0)
        for second in 0..<240 {
            clock.pass(1)
            held.removeAll(where: \.isLost)
            for number in 0..<10 {
                if let place = places.take(strangers.address(second * 10 + number)) { held.append(place) }
            }
            guard second >= 60 else { continue }
            asked += 1
            if let place = places.take(.v4(0x0A00_0000 + UInt32(second))) {
                friends.append(place)
            } else {
                refused += 1
            }
            if friends.count > 10 {
                if friends.removeFirst().isLost { lost += 1 }
            }
        }
        #expect(Double(asked - refused - lost) >= 0.99 * Double(asked), "\(refused) refused, \(lost) lost of \(asked)")
    }

    @Test(arguments: Strangers.allCases)
    func `an administrator and those inside have a place, and an administrator keeps it`(strangers: Strangers) {
        let places = places(total: 200, perAddress: 64)
        let held = (0..<600).compactMap { places.take(strangers.address($0)) }
        // Behind an address of theirs.
        let (admin, inside) = (
            places.take(strangers.address(0), as: .administrator), places.take(strangers.address(1), as: .inside)
        )
        #expect(admin != nil && inside != nil)
        let more = (0..<600).compactMap { places.take(strangers.address($0)) }
        #expect(admin?.isLost == false)
        withExtendedLifetime((held, more)) {}
    }

    @Test func `a lost place ends its holder once, and a place that ends is free`() {
        let places = places(total: 20, perAddress: 20)
        let ended = Guarded(0)
        let greedy = (0..<20).compactMap { _ in places.take(.v4(1)) }
        for place in greedy { place.onLoss { ended.withLock { $0 += 1 } } }
        var friends = (2..<6).map { places.take(.v4($0)) }
        #expect(greedy.count == 18 && friends.allSatisfy { $0 != nil })
        let lost = greedy.filter(\.isLost)
        #expect(lost.count == 3 && ended.withLock { $0 } == 3)
        lost.first?.onLoss { ended.withLock { $0 += 10 } }
        #expect(ended.withLock { $0 } == 13, "who asks too late is told at once")
        friends.removeAll()
        #expect(places.take(.v4(7)) != nil && ended.withLock { $0 } == 13)
    }
}
