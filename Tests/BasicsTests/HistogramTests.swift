import Basics
import Testing

@Suite("A histogram")
struct HistogramTests {
    @Test("counts durations up to each bound, and longer ones")
    func counts() {
        let histogram = Histogram(milliseconds: [10, 20, 40])
        for milliseconds in [0, 10, 11, 20, 40, 41, 1000] { histogram.add(.milliseconds(milliseconds)) }
        let samples = histogram.samples("h", "H.")
        #expect(samples.map(\.name) == ["h_bucket", "h_bucket", "h_bucket", "h_bucket", "h_sum", "h_count"])
        #expect(samples.map(\.value) == [2, 4, 5, 7, 1.122, 7])
        #expect(samples.allSatisfy { $0.family == "h" && $0.kind == .histogram })
        #expect(samples.compactMap { $0.labels["le"] } == ["0.01", "0.02", "0.04", "+Inf"])
    }
}
