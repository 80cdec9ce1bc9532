import Basics
import Testing

@testable import Conference

@Suite("What is done now and then")
struct FiguresTests {
    @Test("memory is given back once, two seconds after something ended, and not more often than each ten")
    func memory() {
        func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
        let figures = Figures()
        #expect(!figures.mustReleaseMemory(at: at(9)))
        figures.ended(at: at(10))
        #expect(!figures.mustReleaseMemory(at: at(11)))
        figures.ended(at: at(11))
        #expect(!figures.mustReleaseMemory(at: at(12)))
        #expect(figures.mustReleaseMemory(at: at(13)))
        #expect(!figures.mustReleaseMemory(at: at(30)))
        figures.ended(at: at(30))
        #expect(figures.mustReleaseMemory(at: at(32)))
        figures.ended(at: at(33))
        #expect(!figures.mustReleaseMemory(at: at(41)))
        #expect(figures.mustReleaseMemory(at: at(42)))
    }
}
