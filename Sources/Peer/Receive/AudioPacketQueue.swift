/// Opus packets that wait for playout, by their timestamps.
struct AudioPacketQueue: Sendable {
    struct Entry: Sendable {
        let packet: ReceivedAudioPacket
        let samples: Int
        let isComfort: Bool
        let carriesFEC: Bool

        /// nil if the payload is no Opus packet.
        init?(_ packet: ReceivedAudioPacket) {
            guard let head = OpusPacket(packet.payload) else { return nil }
            self.packet = packet
            (samples, isComfort, carriesFEC) = (head.samples, head.isComfort, head.carriesFEC)
        }

        /// The timestamp after its last sample.
        var end: Int64 { packet.timestamp &+ Int64(samples) }
    }

    private var entries: [Entry] = []

    var count: Int { entries.count }
    var first: Entry? { entries.first }
    var second: Entry? { entries.count > 1 ? entries[1] : nil }

    /// Inserts a packet in order; false if there is one with its timestamp. A packet replaces its own copy.
    mutating func insert(_ entry: Entry) -> Bool {
        var index = entries.count
        while index > 0, entries[index - 1].packet.timestamp > entry.packet.timestamp { index -= 1 }
        guard index > 0, entries[index - 1].packet.timestamp == entry.packet.timestamp else {
            entries.insert(entry, at: index)
            return true
        }
        guard entries[index - 1].packet.isCopy, !entry.packet.isCopy else { return false }
        entries[index - 1] = entry
        return true
    }

    mutating func removeFirst() { entries.removeFirst() }
    mutating func removeAll() { entries.removeAll(keepingCapacity: true) }
}
