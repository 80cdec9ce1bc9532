import Basics
import Testing

@Suite("An allowance of log lines")
struct LogAllowanceTests {
    @Test("lines that are left out are counted in the next one")
    func untold() {
        let allowance = LogAllowance(perSecond: 1, atOnce: 2, at: .zero)
        #expect(allowance.take(at: .zero) == 0)
        #expect(allowance.take(at: .zero) == 0)
        for _ in 0..<5 { #expect(allowance.take(at: .zero) == nil) }
        #expect(allowance.take(at: .zero + .seconds(1)) == 5)
        #expect(allowance.take(at: .zero + .seconds(2)) == 0)
    }
}
