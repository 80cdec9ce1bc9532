import Basics

/// The samples of a run so far, for the verdict, however the run ended.
final class SampleBox: Sendable {
    private let samples = Guarded<[SoakSample]>([])

    func append(_ sample: SoakSample) { samples.withLock { $0.append(sample) } }
    var all: [SoakSample] { samples.withLock { $0 } }
}
