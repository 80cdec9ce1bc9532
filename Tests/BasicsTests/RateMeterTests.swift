import Basics
import Testing

@Suite("Rate meter") struct RateMeterTests {
    @Test("The rate covers the last second only")
    func meter() {
        var meter = RateMeter()
        for index in 0..<20 { meter.add(1250, at: Instant.zero + .milliseconds(index * 100)) }
        let full = meter.rate(at: Instant.zero + .milliseconds(1900))
        let later = meter.rate(at: Instant.zero + .seconds(5))
        #expect(full == .kilobits(100))
        #expect(later == .zero)
    }
}
