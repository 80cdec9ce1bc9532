import Synchronization

/// Counts durations in buckets with fixed bounds, without a lock, from any thread.
public final class Histogram: Sendable {
    private final class Count: Sendable { let value = Atomic<Int>(0) }

    /// Upper bounds in nanoseconds, ascending; longer durations are counted in one more bucket.
    private let bounds: [Int64]
    private let counts: [Count]
    private let nanoseconds = Atomic<Int64>(0)

    /// - Parameter bounds: the upper bounds in milliseconds, ascending.
    public init(milliseconds bounds: [Int]) {
        self.bounds = bounds.map { Int64($0) * 1_000_000 }
        counts = (0...bounds.count).map { _ in Count() }
    }

    public func add(_ duration: Duration) {
        let duration = duration.nanoseconds
        nanoseconds.wrappingAdd(duration, ordering: .relaxed)
        // The first bound that is not below it.
        var (low, high) = (0, bounds.count)
        while low < high {
            let middle = (low + high) / 2
            if bounds[middle] < duration { low = middle + 1 } else { high = middle }
        }
        counts[low].value.wrappingAdd(1, ordering: .relaxed)
    }

    /// Adds the counts of another histogram with the same bounds.
    public func add(_ other: Histogram) {
        precondition(other.bounds == bounds)
        for (count, more) in zip(counts, other.counts) {
            count.value.wrappingAdd(more.value.load(ordering: .relaxed), ordering: .relaxed)
        }
        nanoseconds.wrappingAdd(other.nanoseconds.load(ordering: .relaxed), ordering: .relaxed)
    }

    /// The samples of a Prometheus histogram, in seconds: `NAME_bucket` with cumulative counts, `NAME_sum`,
    /// `NAME_count`.
    public func samples(_ name: String, _ help: String, labels: [String: String] = [:]) -> [MetricSample] {
        var samples: [MetricSample] = []
        func add(_ suffix: String, _ value: Double, _ more: [String: String] = [:]) {
            var sample = MetricSample(name + suffix, help, .histogram, value, labels: labels.merging(more) { $1 })
            sample.family = name
            samples.append(sample)
        }
        var below = 0
        for (index, count) in counts.enumerated() {
            below += count.value.load(ordering: .relaxed)
            add("_bucket", Double(below), ["le": index < bounds.count ? "\(Double(bounds[index]) / 1e9)" : "+Inf"])
        }
        add("_sum", Double(nanoseconds.load(ordering: .relaxed)) / 1e9)
        add("_count", Double(below))
        return samples
    }
}
