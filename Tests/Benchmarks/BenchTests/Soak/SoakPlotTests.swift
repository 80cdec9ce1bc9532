import Testing

@testable import Bench

@Suite("The soak test's plot")
struct SoakPlotTests {
    @Test("its steps are round numbers", arguments: [(60.0, 8.0, 10.0), (0.7, 4, 0.2), (330, 4, 100), (0, 4, 1)])
    func steps(range: Double, parts: Double, step: Double) {
        #expect(abs(SoakPlot.step(range, parts: parts) - step) < 1e-9)
    }
}
