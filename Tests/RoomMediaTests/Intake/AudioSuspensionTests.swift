import Basics
import Codecs
import Glibc
import Testing

@testable import RoomMedia

@Suite("AudioSuspension")
struct AudioRestTests {
    private func at(_ milliseconds: Int) -> Instant {
        Instant(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    /// Feeds packets of 20 ms with these levels; returns for each whether the participant rests.
    private func run(_ rest: inout AudioSuspension, from start: Int = 0, ticks: Int, level: (Int) -> UInt8?) -> [Bool] {
        (start..<start + ticks).map { tick in
            rest.received(level: level(tick), at: at(tick * 20))
            return rest.updateRest(at: at(tick * 20))
        }
    }

    @Test("a participant rests after a second of quiet packets, until its first loud one")
    func hangover() {
        var rest = AudioSuspension()
        let talking = run(&rest, ticks: 100) { _ in 30 }
        #expect(!talking.contains(true))
        let silent = run(&rest, from: 100, ticks: 100) { _ in 90 }
        #expect(silent.firstIndex(of: true).map { (49...51).contains($0) } == true)
        #expect(rest.isResting)
        rest.received(level: 60, at: at(4000))
        #expect(!rest.updateRest(at: at(4000)) && !rest.isResting)
    }

    @Test("a sender without levels never rests; copies of lost packets, which have no level, end no rest")
    func unknown() {
        var rest = AudioSuspension()
        #expect(!run(&rest, ticks: 300) { _ in nil }.contains(true))
        #expect(rest.rating(at: at(6000)) == nil)
        let copies = run(&rest, from: 300, ticks: 300) { $0 % 2 == 0 ? 127 : nil }
        #expect(copies.last == true)
    }

    @Test("a few packets of every two seconds are checked, and a sender that was not silent never rests again")
    func audit() {
        var rest = AudioSuspension()
        let rests = run(&rest, ticks: 1000) { _ in 127 }
        let looked = rests.dropFirst(60).count { !$0 }
        #expect((30...60).contains(looked), "\(looked) of 940")
        rest.verify([Float](repeating: 0.0001, count: 960))
        #expect(rest.rating(at: at(20_000)) != nil, "it was silent indeed")
        rest.verify((0..<960).map { 0.1 * sin(Float($0) * 0.1) })
        #expect(rest.rating(at: at(20_000)) == nil)
        #expect(!run(&rest, from: 1000, ticks: 200) { _ in 127 }.contains(true))
    }

    @Test("of many talkers the loudest are decoded, a few more than are mixed, each for a second at least")
    func many() {
        var voices = AudibleVoices()
        let loud = (0..<20).map { (id: "p\($0)", rating: -20 - Double($0)) }
        #expect(voices.choose(loud, most: 6, at: at(0)) == Set((0..<8).map { "p\($0)" }))
        let turned = loud.map { (id: $0.id, rating: -60 - $0.rating) }
        let both = voices.choose(turned, most: 6, at: at(500))
        #expect(both == Set((0..<8).map { "p\($0)" } + (12..<20).map { "p\($0)" }))
        #expect(voices.choose(turned, most: 6, at: at(1100)) == Set((12..<20).map { "p\($0)" }))
    }
}
