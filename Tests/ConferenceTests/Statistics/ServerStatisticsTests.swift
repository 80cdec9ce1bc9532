import Basics
import Testing

@testable import Conference

@Suite("ServerStatistics")
struct ServerStatisticsTests {
    @Test("memory is released once, two seconds after an end, and at most every ten seconds")
    func memory() {
        func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
        let statistics = ServerStatistics()
        #expect(!statistics.startReleaseIfDue(at: at(9)))
        statistics.ended(at: at(10))
        #expect(!statistics.startReleaseIfDue(at: at(11)))
        statistics.ended(at: at(11))
        #expect(!statistics.startReleaseIfDue(at: at(12)))
        #expect(statistics.startReleaseIfDue(at: at(13)))
        #expect(!statistics.startReleaseIfDue(at: at(30)))
        statistics.ended(at: at(30))
        #expect(statistics.startReleaseIfDue(at: at(32)))
        statistics.ended(at: at(33))
        #expect(!statistics.startReleaseIfDue(at: at(41)))
        #expect(statistics.startReleaseIfDue(at: at(42)))
    }
}
