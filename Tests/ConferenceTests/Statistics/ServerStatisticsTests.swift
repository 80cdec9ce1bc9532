import Basics
import Testing

@testable import Conference

@Suite("What is done now and then")
struct ServerStatisticsTests {
    @Test("memory is given back once, two seconds after something ended, and not more often than each ten")
    func memory() {
        func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
        let statistics = ServerStatistics()
        #expect(!statistics.mustReleaseMemory(at: at(9)))
        statistics.ended(at: at(10))
        #expect(!statistics.mustReleaseMemory(at: at(11)))
        statistics.ended(at: at(11))
        #expect(!statistics.mustReleaseMemory(at: at(12)))
        #expect(statistics.mustReleaseMemory(at: at(13)))
        #expect(!statistics.mustReleaseMemory(at: at(30)))
        statistics.ended(at: at(30))
        #expect(statistics.mustReleaseMemory(at: at(32)))
        statistics.ended(at: at(33))
        #expect(!statistics.mustReleaseMemory(at: at(41)))
        #expect(statistics.mustReleaseMemory(at: at(42)))
    }
}
