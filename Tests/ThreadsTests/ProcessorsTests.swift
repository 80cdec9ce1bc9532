import Testing

@testable import Threads

@Suite("Available processors")
struct ProcessorsTests {
    @Test("a control group's quota is rounded up to whole processors")
    func quota() {
        #expect(Processors.quota("200000 100000\n") == 2)
        #expect(Processors.quota("150000 100000") == 2)
        #expect(Processors.quota("50000 100000") == 1)
        #expect(Processors.quota("max 100000") == nil)
        for text in ["", "0 0", "-1 100000", "100000", "a b c"] { #expect(Processors.quota(text) == nil) }
    }

    @Test("At least one processor is available") func atLeastOne() { #expect(Processors.available >= 1) }
}
