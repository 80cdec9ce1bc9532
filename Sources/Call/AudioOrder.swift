import Basics
package import Peer

/// Puts received packets in order for a file, which can wait: a fifth of a second for what is late, then its loss is
/// covered from the next packet's redundancy.
package struct AudioOrder {
    package init() {}

    package struct Step {
        package enum Payload {
            case packet([UInt8])
            /// 20 ms are missing; `next` may carry a copy of them (RFC 6716 §4.2.5).
            case lost(next: [UInt8])
        }
        package var payload: Payload
        /// Capture time, in ticks of 48 kHz, of the first sample that the decoder gives for it.
        package var timestamp: Int64
    }

    /// The decoder's output lags behind what was encoded by the encoder's look-ahead, which Opus files call pre-skip:
    /// 6.5 ms (RFC 6716 §2, RFC 7845 §4.2). A packet's timestamp knows nothing of it.
    static let preSkip: Int64 = 312

    /// Packets of 20 ms that may wait behind a hole.
    static let patience = 10

    private var waiting: [ReceivedAudioPacket] = []
    private var nextSequence: Int64?
    /// Capture time − media time, in ticks of 48 kHz: held still, so that packets follow each other without a seam
    /// while the estimate of the sender's clock moves by a sample or two.
    private var anchor: Int64?
    private var strayed = 0
    /// 2.5 ms beside the estimate for a fifth of a second: then the estimate has learnt better.
    private static let tolerance: Int64 = 120
    private static let strayLimit = 10

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
                guard waiting.count > Self.patience else { break }
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
        strayed = distance > Self.tolerance ? strayed + 1 : 0
        // A whole second's jump is another stream, not an estimate.
        anchor = strayed > Self.strayLimit || distance > 48_000 ? offset : held
        return packet.timestamp + (anchor ?? offset) - Self.preSkip
    }
}
