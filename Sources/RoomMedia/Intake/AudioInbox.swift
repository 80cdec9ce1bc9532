import Basics
import Peer
import Synchronization

/// The queue of a participant's Opus packets from the loop to the audio thread. Bounded: a full queue drops its oldest
/// packet and counts it.
final class AudioInbox: Sendable {
    /// 2 s of packets of 20 ms. The audio thread empties the queue every 20 ms.
    private static let limit = 100

    private let packets = Guarded<[ReceivedAudioPacket]>([])
    private let counters: IntakeCounters

    init(counters: IntakeCounters = IntakeCounters()) { self.counters = counters }

    func post(_ packet: ReceivedAudioPacket) {
        packets.withLock { packets in
            if packets.count >= Self.limit {
                packets.removeFirst()
                counters.droppedAudioPackets.wrappingAdd(1, ordering: .relaxed)
            }
            packets.append(packet)
        }
    }

    /// Moves the packets since the last call into `spare`, whose storage becomes the next queue, so that the steady
    /// state allocates nothing.
    func take(into spare: inout [ReceivedAudioPacket]) {
        spare.removeAll(keepingCapacity: true)
        packets.withLock { swap(&$0, &spare) }
    }
}
