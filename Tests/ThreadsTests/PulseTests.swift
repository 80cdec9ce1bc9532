import Testing

@testable import Threads

@Suite("A pulse")
struct PulseTests {
    @Test("it is complete when every thread that was asked has answered")
    func answers() {
        let pulse = Pulse()
        #expect(pulse.isComplete, "nobody was asked")
        let (first, second) = (pulse.expect(), pulse.expect())
        first()
        #expect(!pulse.isComplete)
        second()
        #expect(pulse.isComplete)
    }
}
