import Basics
import Synchronization

/// When a participant's picture came to the server.
struct PictureOrigin: Hashable, Sendable {
    /// Of its frame's last packet.
    var arrival: Instant
    var decoded: Instant
}

/// A composite on its way out, with the pictures that it is the first to show.
package struct PictureTrace: Sendable {
    var origins: [PictureOrigin] = []
    /// Composing began.
    var composed: Instant
    var encoded: Instant

    init(composed: Instant) {
        self.composed = composed
        encoded = composed
    }
}

/// How long pictures take through the server, in all and by the parts of the way.
///
/// One count for each picture that is shown; on the way out, one for each picture and peer that it goes to.
package final class PictureDelays: Sendable {
    enum Part: String, CaseIterable, Sendable {
        /// From a frame's arrival until it is decoded …
        case decode
        /// … until composing begins: for the sound of its moment, and for the tick …
        case wait
        /// … until the composite is encoded …
        case encode
        /// … until its last packet left.
        case send
        /// From a frame's arrival until the last packet of the first composite that shows it left.
        case total
    }

    /// The steps of the histograms: what takes up to so many milliseconds.
    static let bounds = Array(stride(from: 4, through: 120, by: 4)) + [150, 200, 300, 500, 1000]

    /// Counted without a lock: the loop must not wait for an encoder's thread that holds one.
    private final class Histogram: Sendable {
        private final class Count: Sendable { let value = Atomic<Int>(0) }
        private let all = (0...bounds.count).map { _ in Count() }
        private let nanoseconds = Atomic<Int64>(0)

        func add(_ delay: Duration) {
            let milliseconds = delay.inMilliseconds
            nanoseconds.wrappingAdd(delay.nanoseconds, ordering: .relaxed)
            let index = milliseconds <= 120 ? max(0, Int((milliseconds / 4).rounded(.up)) - 1) : Self.index(of: milliseconds)
            all[index].value.wrappingAdd(1, ordering: .relaxed)
        }

        private static func index(of milliseconds: Double) -> Int {
            bounds.firstIndex { milliseconds <= Double($0) } ?? bounds.count
        }

        var counts: [Int] { all.map { $0.value.load(ordering: .relaxed) } }
        var seconds: Double { Double(nanoseconds.load(ordering: .relaxed)) / 1e9 }
    }

    private let histograms = Part.allCases.map { _ in Histogram() }

    private func add(_ delay: Duration, to part: Part) {
        if let index = Part.allCases.firstIndex(of: part) { histograms[index].add(delay) }
    }

    func composed(_ trace: PictureTrace) {
        for origin in trace.origins {
            add(origin.decoded - origin.arrival, to: .decode)
            add(trace.composed - origin.decoded, to: .wait)
        }
    }

    func encoded(_ trace: PictureTrace) { add(trace.encoded - trace.composed, to: .encode) }

    func left(_ traces: [PictureTrace], at now: Instant) {
        for trace in traces {
            add(now - trace.encoded, to: .send)
            for origin in trace.origins { add(now - origin.arrival, to: .total) }
        }
    }

    /// As Prometheus wants histograms: counts up to each bound, in seconds.
    package var samples: [MetricSample] {
        let name = "tessera_picture_delay_seconds"
        let help = "From a frame's arrival to the departure of the composite that shows it, by part of the way."
        var samples: [MetricSample] = []
        for (part, histogram) in zip(Part.allCases, histograms) {
            var below = 0
            for (index, count) in histogram.counts.enumerated() {
                below += count
                let bound = index < Self.bounds.count ? "\(Double(Self.bounds[index]) / 1000)" : "+Inf"
                samples.append(
                    MetricSample(name + "_bucket", help, .counter, Double(below), labels: ["part": part.rawValue, "le": bound]))
            }
            samples.append(MetricSample(name + "_sum", help, .counter, histogram.seconds, labels: ["part": part.rawValue]))
            samples.append(MetricSample(name + "_count", help, .counter, Double(below), labels: ["part": part.rawValue]))
        }
        return samples
    }
}
