import Basics
import Peer
import Synchronization

/// Where the loop leaves a participant's Opus packets for the audio thread. Bounded: the oldest goes first and is
/// counted.
final class AudioInbox: Sendable {
    /// 2 s of packets of 20 ms: the audio thread comes every 20 ms.
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

    /// Everything that came since the last time. `spare` becomes the next inbox, so that nothing is allocated in the
    /// steady state.
    func take(into spare: inout [ReceivedAudioPacket]) {
        spare.removeAll(keepingCapacity: true)
        packets.withLock { swap(&$0, &spare) }
    }
}
