import Basics

/// The ring of packets by sequence number, and the window that it holds.
extension VideoReceiveBuffer {
    /// More than the packets of a keyframe.
    static let maximumSpare = 128

    func index(_ sequence: Int64) -> Int { Int(sequence & Int64(slots.count - 1)) }

    func slot(_ sequence: Int64) -> Slot? {
        guard let slot = slots[index(sequence)], slot.sequence == sequence else { return nil }
        return slot
    }

    /// Notes gaps and keeps the window within the ring; false when the packet is too old for it.
    mutating func makeRoom(for sequence: Int64, at now: Instant) -> Bool {
        defer { lastArrival = now }
        guard let highest else {
            self.highest = sequence
            oldest = sequence
            firstArrival = now
            return true
        }
        if sequence <= highest {
            guard highest - sequence < Int64(slots.count) else {
                statistics.late += 1
                return false
            }
            oldest = min(oldest, sequence)
            return true
        }
        let gap = highest + 1..<sequence
        self.highest = sequence
        let isStale = gap.count > Self.staleGap && now - lastArrival > Self.outage
        if isStale || gap.count >= slots.count || !nacks.note(gap, at: now) {
            // Too much is missing to be asked for.
            statistics.lost += gap.count
            clear()
            oldest = sequence
            interrupt(at: now)
            return true
        }
        if sequence - (next ?? oldest) >= Int64(slots.count) {
            // Without a hole in it the ring is full of one frame.
            if next != nil, headGap == nil {
                overflow(at: now)
                return true
            }
            if next != nil { interrupt(at: now) }
            drop(upTo: sequence - Int64(slots.count) + 1)
            if let next, next < oldest { interrupt(at: now) }
        }
        return true
    }

    /// More is held than any frame needs. Where that is one frame without an end, it is given up and counted.
    mutating func overflow(at now: Instant) {
        interrupt(at: now)
        guard let highest, bytesHeld > configuration.maximumBytes || highest - oldest >= Int64(slots.count) else { return }
        statistics.oversizedFrames += 1
        next = nil
        statistics.lost += nacks.removeBefore(highest)
        drop(upTo: highest)
    }

    mutating func clear() {
        for index in slots.indices { slots[index] = nil }
        bytesHeld = 0
        keyframeStarts.removeAll()
        vp8FrameStarts.removeAll()
        unfinished = nil
        nacks.removeAll()
    }

    mutating func drop(upTo end: Int64) {
        guard end > oldest else { return }
        for sequence in max(oldest, end - Int64(slots.count))..<end { drop(sequence) }
        oldest = end
        keyframeStarts.removeBefore(end)
        vp8FrameStarts.removeBefore(end)
    }

    /// Takes a packet out of the ring.
    mutating func release(_ sequence: Int64) -> Slot? {
        guard let slot = slot(sequence) else { return nil }
        slots[index(sequence)] = nil
        bytesHeld -= slot.payload.count
        return slot
    }

    mutating func drop(_ sequence: Int64) {
        guard let slot = release(sequence), slot.payload.capacity > 0, spare.count < Self.maximumSpare else { return }
        spare.append(slot.payload)
        spare[spare.count - 1].removeAll(keepingCapacity: true)
    }

    /// Keeps the memory of payloads that became a frame for the packets to come.
    mutating func recycle(_ payloads: inout [[UInt8]]) {
        while var payload = payloads.popLast() {
            guard spare.count < Self.maximumSpare else { continue }
            payload.removeAll(keepingCapacity: true)
            spare.append(payload)
        }
        assembling = payloads
    }

    mutating func dropOlder(than time: Instant) {
        guard let highest else { return }
        var end = oldest
        while end <= highest, (slot(end)?.arrival ?? .distantPast) < time, end < (nacks.first(from: end)?.sequence ?? .max) {
            end += 1
        }
        drop(upTo: end)
    }
}
