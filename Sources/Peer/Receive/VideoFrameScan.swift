/// How far the packets of a ring were searched for the end of a frame, so that a new packet does not make the search
/// visit all of its frame again.
struct VideoFrameScan: Sendable {
    /// The first packet of the next frame; nil while no keyframe has been found.
    private(set) var next: Int64?
    /// From `next` up to here every packet has arrived and belongs to one frame.
    private var scanned: Int64 = 0
    /// Up to where the frame that begins at `start`, after the next one, has arrived, without its end.
    private var unfinished: (start: Int64, end: Int64)?

    /// Sets the beginning of the next frame.
    mutating func move(to sequence: Int64) {
        next = sequence
        scanned = sequence
    }

    /// Clears the next frame: there is none until a keyframe is found.
    mutating func clearNext() { next = nil }

    /// Forgets the search: the ring was emptied.
    mutating func clear() { unfinished = nil }

    /// The end of the frame that starts at `start`, the next one; nil until it is complete.
    mutating func frameEnd(from start: Int64, in ring: VideoPacketRing) -> Int64? {
        guard let highest = ring.highest else { return nil }
        var timestamp: Int64?
        var sequence = start
        if scanned > start, let first = ring[start], !first.payload.isEmpty {
            timestamp = first.timestamp
            sequence = scanned
        }
        while sequence <= highest {
            guard let packet = ring[sequence] else { break }
            if packet.payload.isEmpty {
                sequence += 1
                // Padding before a frame belongs to no frame.
                if timestamp == nil { return sequence }
                continue
            }
            if let timestamp, packet.timestamp != timestamp { return sequence }
            timestamp = packet.timestamp
            sequence += 1
            if packet.marker { return sequence }
        }
        scanned = sequence
        return nil
    }

    /// Whether every packet of the frame that starts at `start` has arrived.
    mutating func isWhole(from start: Int64, in ring: VideoPacketRing) -> Bool {
        guard let highest = ring.highest, let first = ring[start] else { return false }
        var sequence = start
        if let unfinished, unfinished.start == start { sequence = unfinished.end }
        while sequence <= highest, let packet = ring[sequence] {
            if !packet.payload.isEmpty {
                if packet.timestamp != first.timestamp || packet.marker { return true }
            }
            sequence += 1
        }
        unfinished = (start, sequence)
        return false
    }
}
