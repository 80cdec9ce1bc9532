import Basics
import Testing

@testable import Inputs

@Suite struct PlayoutClockTests {
    private static let start = Instant.zero + .seconds(1000)

    @Test func `a fetched input is played at our own pace`() {
        var clock = PlayoutClock(.own)
        clock.anchor(.seconds(7), arrival: Self.start)
        #expect(clock.instant(of: .seconds(7)) == Self.start + PlayoutClock.start)
        // All of it is there long before it is due: nothing changes.
        for number in 1..<2000 {
            let time = Duration.seconds(7) + .milliseconds(20 * number)
            clock.received(time, arrival: Self.start, at: Self.start + .milliseconds(20 * number))
        }
        #expect(clock.instant(of: .seconds(8)) == Self.start + PlayoutClock.start + .seconds(1))
    }

    @Test func `after a stall everything is played that much later`() {
        var clock = PlayoutClock(.own)
        clock.anchor(.zero, arrival: Self.start)
        let late = Self.start + .seconds(3)
        clock.received(.seconds(1), arrival: late, at: late)
        #expect(clock.instant(of: .seconds(1)) == late)
    }

    /// Plays a source whose clock runs at `rate`; returns how long its packets wait at the end.
    private func wait(rate: Double, seconds: Int) -> Duration {
        var clock = PlayoutClock(.source)
        clock.anchor(.zero, arrival: Self.start)
        var wait = Duration.zero
        for number in 1...(seconds * 50) {
            let arrival = Self.start + .milliseconds(20 * number)
            let time = Duration.milliseconds(20 * number) * rate
            clock.received(time, arrival: arrival, at: arrival)
            wait = clock.instant(of: time) - arrival
        }
        return wait
    }

    @Test(arguments: [0.9995, 0.9997, 1, 1.0003, 1.0005])
    func `the clock of a source is followed for an hour`(rate: Double) {
        let wait = wait(rate: rate, seconds: 3600)
        #expect(wait > .zero - PlayoutClock.tolerance)
        #expect(wait <= PlayoutClock.buffer + PlayoutClock.surplus + .milliseconds(30))
    }

    @Test func `what a server had kept is left behind`() {
        var clock = PlayoutClock(.source)
        // The anchor is an old packet; the newer ones come at once, four seconds ahead of it.
        clock.anchor(.zero, arrival: Self.start)
        for number in 1...600 {
            let arrival = Self.start + .milliseconds(20 * number)
            let time = Duration.seconds(4) + .milliseconds(20 * number)
            clock.received(time, arrival: arrival, at: arrival)
        }
        let end = Self.start + .seconds(12)
        #expect(clock.instant(of: .seconds(16)) - end <= PlayoutClock.buffer + .milliseconds(10))
    }

    @Test func `packets from before the anchor do not delay the rest`() {
        var clock = PlayoutClock(.source)
        clock.anchor(.seconds(4), arrival: Self.start)
        let before = clock.instant(of: .seconds(5))
        clock.received(.seconds(1), arrival: Self.start, at: Self.start)
        #expect(clock.instant(of: .seconds(5)) == before)
    }

    @Test func `a stream that always comes later than the other makes both wait`() {
        var clock = PlayoutClock(.source)
        clock.anchor(.zero, arrival: Self.start)
        for number in 1...500 {
            let arrival = Self.start + .milliseconds(20 * number)
            clock.received(.milliseconds(20 * number), arrival: arrival, at: arrival)
            // The audio of the same moment comes 600 ms later.
            let audio = Duration.milliseconds(20 * number - 600)
            if audio > .zero { clock.received(audio, arrival: arrival, at: arrival) }
        }
        let now = Self.start + .seconds(10)
        let wait = clock.instant(of: .milliseconds(9400)) - now
        #expect(wait > .zero - PlayoutClock.tolerance && wait < PlayoutClock.surplus + PlayoutClock.buffer)
    }
}
