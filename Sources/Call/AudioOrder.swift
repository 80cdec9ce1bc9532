import Basics
package import Peer

/// Puts received packets in order for a file. It waits a fifth of a second for a late packet, and then conceals the
/// loss with the next packet's redundancy.
package struct AudioOrder {
    package init() {}

    package struct Step {
        package enum Payload {
            case packet([UInt8])
            /// A packet of 20 ms is missing; `next` may contain a copy of it (RFC 6716 §4.2.5).
            case lost(next: [UInt8])
        }
        package var payload: Payload
        /// The capture time, in ticks of 48 kHz, of the first decoded sample.
        package var timestamp: Int64
    }

    /// The decoder's output lags behind the encoded audio by the encoder's look-ahead of 6.5 ms, the pre-skip of Opus
    /// files (RFC 6716 §2, RFC 7845 §4.2). A packet's timestamp does not include it.
    static let preSkip: Int64 = 312

    /// Packets of 20 ms that may wait behind a gap.
    static let reorderLimit = 10

    private var waiting: [ReceivedAudioPacket] = []
    private var nextSequence: Int64?
    /// Capture time − media time, in ticks of 48 kHz. It is kept constant, so that packets follow each other without a
    /// gap while the estimate of the sender's clock changes by a sample or two.
    private var anchor: Int64?
    private var deviations = 0
    /// `anchor` follows the estimate when it differs by more than 2.5 ms for a fifth of a second.
    private static let tolerance: Int64 = 120
    private static let deviationLimit = 10

    package mutating func take(_ packet: ReceivedAudioPacket) -> [Step] {
        if let next = nextSequence, packet.sequence < next { return [] }
        let place = waiting.firstIndex { $0.sequence >= packet.sequence } ?? waiting.endIndex
        if place < waiting.endIndex, waiting[place].sequence == packet.sequence { return [] }
        waiting.insert(packet, at: place)
        var steps: [Step] = []
        while let first = waiting.first {
            let next = nextSequence ?? first.sequence
            let timestamp = timelineTime(of: first)
            if first.sequence != next {
                guard waiting.count > Self.reorderLimit else { break }
                steps.append(Step(payload: .lost(next: first.payload), timestamp: timestamp - 960))
            }
            steps.append(Step(payload: .packet(first.payload), timestamp: timestamp))
            waiting.removeFirst()
            nextSequence = first.sequence + 1
        }
        return steps
    }

    private mutating func timelineTime(of packet: ReceivedAudioPacket) -> Int64 {
        let offset = packet.captureTime.ticks(at: 48_000) - packet.timestamp
        let held = anchor ?? offset
        let distance = abs(offset - held)
        deviations = distance > Self.tolerance ? deviations + 1 : 0
        // A jump by a second is a new stream, not a better estimate.
        anchor = deviations > Self.deviationLimit || distance > 48_000 ? offset : held
        return packet.timestamp + (anchor ?? offset) - Self.preSkip
    }
}
