import Basics
import Testing

@Suite struct InstantTests {
    @Test("media ticks and instants convert both ways without drift")
    func ticks() {
        let eightHours = Instant(nanoseconds: 8 * 3600 * 1_000_000_000)
        #expect(eightHours.ticks(at: 90_000) == 8 * 3600 * 90_000)
        #expect(Instant(ticks: 8 * 3600 * 48_000 + 960, at: 48_000) == eightHours + .milliseconds(20))
    }

    @Test("arithmetic saturates instead of trapping")
    func saturation() {
        #expect(Instant.distantFuture + .seconds(1) == .distantFuture)
        #expect(Instant.distantPast - .seconds(1) == .distantPast)
        #expect((Instant.distantFuture - Instant.distantPast).nanoseconds == .max)
    }

    @Test("bit rates and byte counts agree")
    func bitRates() {
        #expect(BitRate.kilobits(800).bytes(in: .milliseconds(10)) == 1000)
        #expect(BitRate.kilobits(800).time(for: 1000) == .milliseconds(10))
        #expect(BitRate(bytes: 1000, in: .milliseconds(10)) == .kilobits(800))
        #expect(BitRate.megabits(1.5).description == "1.5M")
        #expect(BitRate.kilobits(110).description == "110k")
    }
}
