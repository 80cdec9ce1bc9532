import Basics
import Synchronization

/// When a participant's picture came to the server.
struct PictureOrigin: Hashable, Sendable {
    /// Of its frame's last packet.
    var arrival: Instant
    var decoded: Instant
}

/// A composite on its way out, with the pictures that it is the first to show.
struct PictureTrace: Sendable {
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
final class PictureDelays: Sendable {
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

    private struct Histogram {
        var counts = [Int](repeating: 0, count: bounds.count + 1)
        var sum = 0.0

        mutating func add(_ delay: Duration) {
            let milliseconds = delay.inMilliseconds
            sum += milliseconds / 1000
            let index = milliseconds <= 120 ? max(0, Int((milliseconds / 4).rounded(.up)) - 1) : Self.index(of: milliseconds)
            counts[index] += 1
        }

        private static func index(of milliseconds: Double) -> Int {
            bounds.firstIndex { milliseconds <= Double($0) } ?? bounds.count
        }
    }

    private let histograms = Mutex([Histogram](repeating: Histogram(), count: Part.allCases.count))

    private func change(_ body: (inout [Histogram]) -> Void) { histograms.withLock { body(&$0) } }

    func composed(_ trace: PictureTrace) {
        guard !trace.origins.isEmpty else { return }
        change { all in
            for origin in trace.origins {
                all[0].add(origin.decoded - origin.arrival)
                all[1].add(trace.composed - origin.decoded)
            }
        }
    }

    func encoded(_ trace: PictureTrace) { change { $0[2].add(trace.encoded - trace.composed) } }

    func left(_ traces: [PictureTrace], at now: Instant) {
        change { all in
            for trace in traces {
                all[3].add(now - trace.encoded)
                for origin in trace.origins { all[4].add(now - origin.arrival) }
            }
        }
    }

    /// As Prometheus wants histograms: counts up to each bound, in seconds.
    var samples: [MetricSample] {
        let all = histograms.withLock { $0 }
        let name = "tessera_picture_delay_seconds"
        let help = "From a frame's arrival to the departure of the composite that shows it, by part of the way."
        var samples: [MetricSample] = []
        for (part, histogram) in zip(Part.allCases, all) {
            var below = 0
            for (index, count) in histogram.counts.enumerated() {
                below += count
                let bound = index < Self.bounds.count ? "\(Double(Self.bounds[index]) / 1000)" : "+Inf"
                samples.append(
                    MetricSample(name + "_bucket", help, .counter, Double(below), labels: ["part": part.rawValue, "le": bound]))
            }
            samples.append(MetricSample(name + "_sum", help, .counter, histogram.sum, labels: ["part": part.rawValue]))
            samples.append(MetricSample(name + "_count", help, .counter, Double(below), labels: ["part": part.rawValue]))
        }
        return samples
    }
}
