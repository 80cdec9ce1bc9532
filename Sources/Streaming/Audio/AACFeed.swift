package import Basics
package import Codecs
import Dispatch
import Synchronization

/// The full mix of a room as AAC, encoded once for all who take it.
///
/// The audio thread only hands its samples over: the encoder runs on a queue of its own, with at most a second of
/// samples that wait for it.
package final class AACFeed: Sendable {
    /// An access unit of AAC-LC, mono at 48 kHz.
    package struct Packet: Sendable {
        package var data: [UInt8]
        /// The room time of its first sample, in samples.
        package var time: Int64
    }

    /// The AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1).
    package let configuration: [UInt8]

    private let takers = Guarded<[String: @Sendable (Packet) -> Void]>([:])
    private let queue = DispatchQueue(label: "stream audio", qos: .userInitiated)
    private let work: Work
    private let waiting = Atomic<Int>(0)

    private static let mostWaiting = 50

    /// `@unchecked Sendable`: only the queue uses it.
    private final class Work: @unchecked Sendable {
        let encoder: AACEncoder
        var timeline = AudioTimeline()
        init(_ encoder: AACEncoder) { self.encoder = encoder }
    }

    package init(bitRate: BitRate = .kilobits(96)) throws(CodecError) {
        let encoder = try AACEncoder(bitRate: bitRate)
        configuration = encoder.audioSpecificConfig
        work = Work(encoder)
    }

    /// Gives `taker` the packets from now on, on the feed's queue.
    package func add(_ name: String, _ taker: @escaping @Sendable (Packet) -> Void) {
        takers.withLock { $0[name] = taker }
    }

    package func remove(_ name: String) { takers.withLock { _ = $0.removeValue(forKey: name) } }

    /// Whether nobody takes the packets.
    package var isUnused: Bool { takers.withLock(\.isEmpty) }

    /// Takes samples of the mix; `timestamp` is their room time in samples. What a second taker's tap brings again is
    /// left out.
    package func append(_ samples: [Float], timestamp: Int64) {
        guard waiting.load(ordering: .relaxed) < Self.mostWaiting else { return }
        waiting.wrappingAdd(1, ordering: .relaxed)
        queue.async { [self] in
            waiting.wrappingSubtract(1, ordering: .relaxed)
            encode(samples, timestamp)
        }
    }

    private func encode(_ samples: [Float], _ timestamp: Int64) {
        guard let place = work.timeline.place(samples.count, at: timestamp), let origin = work.timeline.origin else {
            return
        }
        let takers = takers.withLock { Array($0.values) }
        var block = [Float](repeating: 0, count: place.silence)
        block += samples.dropFirst(place.skipped)
        // A packet that the encoder cannot make is a gap in the stream's audio.
        try? work.encoder.encode(block) { packet in
            for taker in takers { taker(Packet(data: packet.data, time: origin + packet.position)) }
        }
    }
}
