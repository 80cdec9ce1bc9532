package import Basics

/// When a participant's picture arrived at the server.
struct PictureOrigin: Hashable, Sendable {
    /// Of its frame's last packet.
    var arrival: Instant
    var decoded: Instant
}

/// A composed picture on its way out, with the origins of the pictures that it is the first to show.
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

/// The delays of pictures through the server, in total and by stage.
///
/// Each shown picture counts once in `decode` and `wait`, each encode once in `encode`; for each receiving peer a
/// composite counts once in `send`, and each of its new pictures once in `total`.
package final class PictureDelays: Sendable {
    enum Part: String, CaseIterable, Sendable {
        /// From a frame's arrival until it is decoded …
        case decode
        /// … until composing begins, which waits for the audio of its moment and for the tick …
        case wait
        /// … until the composite is encoded …
        case encode
        /// … until its last packet left.
        case send
        /// From a frame's arrival until the last packet of the first composite that shows it left.
        case total
    }

    /// The upper bounds of the histograms' buckets, in milliseconds.
    static let bounds = Array(stride(from: 4, through: 120, by: 4)) + [150, 200, 300, 500, 1000]

    /// Without a lock: the loop must not wait for an encoder's thread that holds one.
    private let histograms = Part.allCases.map { _ in Histogram(milliseconds: bounds) }

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

    package var samples: [MetricSample] {
        zip(Part.allCases, histograms).flatMap { part, histogram in
            histogram.samples(
                "tessera_picture_delay_seconds",
                "From a frame's arrival to the departure of the composite that shows it, by part of the way.",
                labels: ["part": part.rawValue])
        }
    }
}
