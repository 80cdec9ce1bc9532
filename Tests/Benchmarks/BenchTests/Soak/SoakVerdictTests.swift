import Testing

@testable import Bench

@Suite("The soak test's verdict")
struct SoakVerdictTests {
    /// Samples with `memory` and `descriptors` by minute; callers join in the first 100 s of each cycle.
    private func samples(
        minutes: Int, memory: (Double) -> Double = { _ in 200 }, descriptors: (Double) -> Int = { _ in 20 },
        offset: (Double) -> Double? = { _ in 12 }
    ) -> [SoakSample] {
        (1...minutes * 6).map { number in
            let time = Double(number) * SoakSample.interval
            var sample = SoakSample(
                time: time, server: ServerReading(ProcessStatistics(id: 0), metrics: ServerMetrics("")),
                serverLoad: 0.5,
                clientLoad: 0.1, taken: 0,
                lips: [LipWatch.Reading(), LipWatch.Reading()])
            sample.server.resident = memory(time / 60) + (sample.isQuiet ? 0 : 60)
            sample.server.anonymous = sample.server.resident
            sample.server.descriptors = descriptors(time / 60) + (sample.isQuiet ? 0 : 15)
            sample.server.metrics.gauges = ["tessera_rooms": sample.isQuiet ? 1 : 5]
            for place in 0..<2 { sample.lips[place].offsets = offset(time / 60).map { [$0, $0, $0] } ?? [] }
            return sample
        }
    }

    private func missed(_ samples: [SoakSample], faults: Int = 0, exitStatus: Int32? = 0) -> [String] {
        SoakVerdict(samples, faults: faults, exitStatus: exitStatus).lines.filter { $0.holds == false }.map(\.what)
    }

    @Test("a server that releases everything meets every aim, whatever it used in the first ten minutes")
    func flat() {
        let steady = samples(minutes: 60, memory: { $0 < 8 ? 100 + 12 * $0 : 200 })
        #expect(missed(steady).isEmpty)
        #expect(SoakVerdict(steady, faults: 0, exitStatus: 0).lines.allSatisfy { $0.holds == true })
    }

    @Test("a growth of half a megabyte a minute is a miss")
    func grows() {
        #expect(!missed(samples(minutes: 60, memory: { 200 + 0.5 * $0 })).isEmpty)
    }

    @Test("a leaked descriptor every ten minutes is a miss")
    func leaks() {
        #expect(missed(samples(minutes: 60, descriptors: { 20 + Int($0 / 10) })) == ["descriptors, pair alone"])
    }

    @Test("audio that drifts, or that is not received, is a miss")
    func drifts() {
        #expect(missed(samples(minutes: 60, offset: { $0 > 59 ? -41 : 10 })) == ["A/V offset, median of 10 s, ms"])
        #expect(missed(samples(minutes: 60, offset: { $0 > 59 ? nil : 10 })) == ["A/V offset, median of 10 s, ms"])
    }

    @Test("faults and a server that had to be killed are misses")
    func faults() {
        #expect(missed(samples(minutes: 60), faults: 1) == ["things that went wrong"])
        #expect(missed(samples(minutes: 60), exitStatus: nil) == ["the server's exit status"])
    }

    @Test("a short run is reported as too short, and an empty one has no verdict")
    func short() {
        #expect(SoakVerdict(samples(minutes: 2), faults: 0, exitStatus: 0).lines.first?.holds == nil)
        #expect(!missed([]).isEmpty)
    }
}
