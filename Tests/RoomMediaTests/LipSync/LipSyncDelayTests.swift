import Basics
import Testing

@testable import RoomMedia

@Suite("LipSyncDelay")
struct LipSyncDelayTests {
    /// 30 pictures a second for the given time, each 20 ms on the link and 10 ms more until it can be shown. At each of
    /// these moments (in ms) a loss delays the pictures by the given time, and then all of them arrive at once;
    /// `isRepaired` false: the delay was no loss.
    private func delay(
        after seconds: Int64, stalls: [(at: Int64, length: Int64)] = [], isRepaired: Bool = true,
        handling: [Int64] = [10]
    ) -> Duration {
        var wait = LipSyncDelay()
        for index in 0..<seconds * 30 {
            let capture = Instant(nanoseconds: index * 33_333_333)
            var arrival = capture + .milliseconds(20)
            for (at, length) in stalls {
                let end = Instant(nanoseconds: (at + length) * 1_000_000)
                if arrival.nanoseconds >= at * 1_000_000, arrival < end { arrival = end }
            }
            let isLate = arrival > capture + .milliseconds(20)
            let more = handling[Int(index) % handling.count]
            wait.recordPicture(
                of: capture, arrival: arrival, isRepaired: isLate && isRepaired,
                couldBeShownAt: arrival + .milliseconds(more))
        }
        return wait.delay
    }

    @Test("without late pictures the delay is the median")
    func usual() {
        #expect(delay(after: 5) == .milliseconds(30))
    }

    @Test("one stall does not count, however long, and neither do two within a second")
    func once() {
        #expect(delay(after: 5, stalls: [(3000, 250)]) == .milliseconds(30))
        #expect(delay(after: 5, stalls: [(3000, 600), (3650, 200)]) == .milliseconds(30))
    }

    @Test(
        "the delay covers recurring stalls: the second longest of ten seconds in full, the longest less one frame")
    func again() {
        // The first picture that a stall holds up is up to a frame younger than the stall.
        let even = delay(after: 8, stalls: [(2000, 200), (4000, 190), (6000, 100)])
        #expect(even > .milliseconds(185) && even <= .milliseconds(220))
        let uneven = delay(after: 8, stalls: [(2000, 100), (4000, 300), (6000, 100)])
        #expect(uneven > .milliseconds(259) && uneven <= .milliseconds(297))
    }

    @Test("stalls of a busy sender do not count: its pictures are late, but none was lost")
    func busySender() {
        #expect(
            delay(after: 8, stalls: [(2000, 200), (4000, 190), (6000, 100)], isRepaired: false) == .milliseconds(30))
    }

    @Test("a stall is forgotten after ten seconds")
    func forgotten() {
        #expect(delay(after: 20, stalls: [(2000, 200), (4000, 200)]) == .milliseconds(30))
        #expect(delay(after: 12, stalls: [(2000, 200), (4000, 200)]) > .milliseconds(150))
    }

    @Test("pictures that the server shows late do not count as stalls")
    func busy() {
        #expect(delay(after: 5, handling: Array(repeating: 10, count: 14) + [90]) == .milliseconds(30))
    }

    @Test("the audio waits by its lead, and no longer than 200 ms")
    func audioWait() {
        func wait(_ picture: Int64?, audio: Int64, current: Int64) -> Duration {
            LipSyncDelay.audioWait(
                picture: picture.map { .milliseconds($0) }, audio: .milliseconds(audio), current: .milliseconds(current)
            )
        }
        #expect(wait(nil, audio: 60, current: 20) == .zero)
        #expect(wait(100, audio: 60, current: 20) == .milliseconds(60) + LipSyncDelay.behindPicture)
        #expect(wait(60, audio: 110, current: 30) == .zero)
        #expect(wait(900, audio: 60, current: 20) == .milliseconds(200))
    }
}
