import Basics
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite("WatchdogSchedule")
struct WatchdogScheduleTests {
    private let start = Instant(ticks: 0, at: 1)

    /// The times in seconds at which it tells, where it looks every second of `seconds` in which the server is alive.
    private func times(limit: Duration, seconds: Int, alive: (Int) -> Bool = { _ in true }) -> [Int] {
        var schedule = WatchdogSchedule(limit: limit, at: start)
        return (0...seconds).filter { second in
            schedule.tells(at: start + .seconds(second), isAlive: alive(second))
        }
    }

    @Test("it tells at every half of the limit") func period() {
        #expect(times(limit: .seconds(8), seconds: 13) == [0, 4, 8, 12])
        #expect(WatchdogSchedule(limit: .seconds(8), at: start).step == .seconds(1))
    }

    @Test("it is silent while a thread hangs, and tells at the next look after it") func hanging() {
        #expect(times(limit: .seconds(8), seconds: 20) { !(3...9).contains($0) } == [0, 10, 13, 17])
        #expect(times(limit: .seconds(8), seconds: 100) { _ in false }.isEmpty)
    }

    @Test("late looks do not add up to more than half of the limit") func late() {
        var schedule = WatchdogSchedule(limit: .seconds(8), at: start)
        let looks = stride(from: 0, through: 60_000, by: 1300).filter { look in
            schedule.tells(at: start + .milliseconds(look), isAlive: true)
        }
        for (earlier, later) in zip(looks, looks.dropFirst()) { #expect(later - earlier <= 5300) }
    }

    @Test("a limit of a microsecond does not make it look all the time") func tiny() {
        #expect(WatchdogSchedule(limit: .microseconds(1), at: start).step == .milliseconds(1))
    }
}
