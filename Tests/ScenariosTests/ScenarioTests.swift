import Basics
import Testing

@testable import Scenarios

@Suite("Trace")
struct TraceTests {
    @Test func table() throws {
        print(try networkTable(seed: 1) { print($0) })
    }
}
