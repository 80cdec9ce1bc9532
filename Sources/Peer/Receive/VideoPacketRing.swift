import Basics

/// One packet of a video stream.
struct VideoPacket: Sendable {
    /// Whether a packet begins a keyframe, as far as its first bytes show.
    enum KeyframeStart: Sendable { case no, certain, withKnownParameters }

    var sequence: Int64
    var timestamp: Int64
    var marker: Bool
    var codec: VideoCodec
    /// Empty for padding.
    var payload: [UInt8] = []
    var arrival: Instant
    /// Whether it had been requested.
    var isRepair: Bool
    var keyframeStart = KeyframeStart.no
    var startsVP8Frame = false

    /// The descriptor before the payload; nil if there is none.
    var descriptor: VP8Descriptor? { VP8Descriptor.parse(payload.span)?.descriptor }

    /// Inspects the packet's payload, which is not empty.
    mutating func inspect(_ payload: Span<UInt8>) {
        switch codec {
        case .av1: break
        case .vp8:
            guard let (descriptor, size) = VP8Descriptor.parse(payload), size < payload.count, descriptor.startsFrame
            else { return }
            startsVP8Frame = true
            if payload[size] & 1 == 0 { keyframeStart = .certain }
        case .h264:
            guard let peek = H264Depacketizer.peek(payload) else { return }
            if peek.hasSPS {
                keyframeStart = .certain
            } else if peek.hasIDR {
                keyframeStart = .withKnownParameters
            }
        }
    }
}

/// The packets of one stream that wait until their frame is complete, by sequence number, and which of them begin a
/// frame.
///
/// In the steady state it allocates nothing: the memory of payloads is reused.
struct VideoPacketRing: Sendable {
    /// The position of a packet relative to the earlier ones.
    enum Place {
        case first
        /// At or before the highest one.
        case behind
        /// After a gap, which is empty if the packet is the next one.
        case ahead(gap: Range<Int64>)
        case tooOld
    }

    /// The most payloads whose memory is kept: more than the packets of a keyframe.
    private static let maximumSpare = 128

    private var slots: [VideoPacket?]
    private var spare: [[UInt8]] = []
    /// The payload array of the last taken frame, kept for its memory.
    private var taken: [[UInt8]] = []
    /// Held packets that begin a keyframe, and those that begin a VP8 frame.
    private var keyframeStarts = SequenceIndex()
    private var vp8FrameStarts = SequenceIndex()
    /// The bytes of all payloads.
    private(set) var bytes = 0
    /// The highest sequence number received.
    private(set) var highest: Int64?
    /// The oldest sequence number that may be held.
    private(set) var oldest: Int64 = 0

    init(capacity: Int) {
        var size = 64
        while size < min(capacity, 1 << 15) { size *= 2 }
        slots = Array(repeating: nil, count: size)
    }

    var capacity: Int { slots.count }
    /// Whether the range from the oldest to the highest packet exceeds the capacity.
    var isFull: Bool { highest.map { $0 - oldest >= Int64(slots.count) } ?? false }

    private func index(_ sequence: Int64) -> Int { Int(sequence & Int64(slots.count - 1)) }

    subscript(_ sequence: Int64) -> VideoPacket? {
        guard let packet = slots[index(sequence)], packet.sequence == sequence else { return nil }
        return packet
    }

    func contains(_ sequence: Int64) -> Bool { slots[index(sequence)]?.sequence == sequence }

    // MARK: - Input

    /// Records that a packet with this number came; the caller decides how to handle the gap before it.
    mutating func note(_ sequence: Int64) -> Place {
        guard let highest else {
            self.highest = sequence
            oldest = sequence
            return .first
        }
        guard sequence <= highest else {
            self.highest = sequence
            return .ahead(gap: highest + 1..<sequence)
        }
        guard highest - sequence < Int64(slots.count) else { return .tooOld }
        oldest = min(oldest, sequence)
        return .behind
    }

    /// Stores a packet, which was recorded before, with its payload.
    mutating func insert(_ packet: VideoPacket, _ payload: Span<UInt8>, knowsParameterSets: Bool) {
        var packet = packet
        if !payload.isEmpty {
            packet.inspect(payload)
            packet.payload = spare.popLast() ?? []
            payload.withUnsafeBufferPointer { packet.payload.append(contentsOf: $0) }
        }
        let index = index(packet.sequence)
        if let other = slots[index] { drop(other.sequence) }
        bytes += packet.payload.count
        slots[index] = packet
        noteStarts(packet.sequence, knowsParameterSets: knowsParameterSets)
    }

    /// Indexes the frame starts at a packet and its successor, whose start may depend on the packet before it.
    private mutating func noteStarts(_ sequence: Int64, knowsParameterSets: Bool) {
        if self[sequence]?.startsVP8Frame == true { vp8FrameStarts.insert(sequence) }
        for start in sequence...sequence + 1 where startsKeyframe(start, knowsParameterSets: knowsParameterSets) {
            keyframeStarts.insert(start)
        }
    }

    /// Indexes once more the packets that begin a keyframe with known parameter sets: these have just become known.
    mutating func parameterSetsAreKnown() {
        guard let highest, oldest <= highest else { return }
        for sequence in oldest...highest { noteStarts(sequence, knowsParameterSets: true) }
    }

    /// Whether a keyframe begins with this packet, as far as the packet shows.
    private func startsKeyframe(_ sequence: Int64, knowsParameterSets: Bool) -> Bool {
        guard let packet = self[sequence] else { return false }
        switch packet.keyframeStart {
        case .no: return false
        case .certain: return true
        case .withKnownParameters:
            // Its own parameter sets could have been in the packet before it.
            guard knowsParameterSets, let before = self[sequence - 1] else { return false }
            return before.marker || before.timestamp != packet.timestamp
        }
    }

    // MARK: - Frame starts

    var firstKeyframeStart: Int64? { keyframeStarts.first(from: oldest) }
    var lastKeyframeStart: Int64? { keyframeStarts.last }

    /// The first held packet at or after `sequence` that begins a VP8 frame.
    func vp8FrameStart(from sequence: Int64) -> (sequence: Int64, descriptor: VP8Descriptor)? {
        guard let start = vp8FrameStarts.first(from: sequence), let descriptor = self[start]?.descriptor else {
            return nil
        }
        return (start, descriptor)
    }

    // MARK: - Output

    /// A run of packets that was removed.
    struct Run {
        /// The payloads of all packets except padding, in order.
        var payloads: [[UInt8]] = []
        /// The timestamp of the first packet with a payload.
        var timestamp: Int64 = 0
        var codec = VideoCodec.vp8
        /// The arrival of the packet that came last.
        var arrival = Instant.distantPast
        var isRepaired = false
        /// Whether one of the packets has the marker.
        var marker = false
    }

    /// Removes packets from the ring. The payloads are to be returned with `recycle`.
    mutating func take(_ range: Range<Int64>) -> Run {
        var run = Run()
        run.payloads = taken
        taken = []
        for sequence in range {
            guard let packet = release(sequence), !packet.payload.isEmpty else { continue }
            if run.payloads.isEmpty {
                run.timestamp = packet.timestamp
                run.codec = packet.codec
            }
            run.arrival = max(run.arrival, packet.arrival)
            run.isRepaired = run.isRepaired || packet.isRepair
            run.marker = run.marker || packet.marker
            run.payloads.append(packet.payload)
        }
        return run
    }

    /// Keeps the memory of payloads that became a frame for later packets.
    mutating func recycle(_ payloads: inout [[UInt8]]) {
        while var payload = payloads.popLast() {
            guard spare.count < Self.maximumSpare else { continue }
            payload.removeAll(keepingCapacity: true)
            spare.append(payload)
        }
        swap(&taken, &payloads)
    }

    private mutating func release(_ sequence: Int64) -> VideoPacket? {
        guard let packet = self[sequence] else { return nil }
        slots[index(sequence)] = nil
        bytes -= packet.payload.count
        return packet
    }

    private mutating func drop(_ sequence: Int64) {
        guard let packet = release(sequence), packet.payload.capacity > 0, spare.count < Self.maximumSpare else {
            return
        }
        spare.append(packet.payload)
        spare[spare.count - 1].removeAll(keepingCapacity: true)
    }

    /// Drops everything before `end`.
    mutating func drop(upTo end: Int64) {
        guard end > oldest else { return }
        for sequence in max(oldest, end - Int64(slots.count))..<end { drop(sequence) }
        oldest = end
        keyframeStarts.removeBefore(end)
        vp8FrameStarts.removeBefore(end)
    }

    /// Drops the packets at the beginning that came before `time`, up to `limit`.
    mutating func dropOlder(than time: Instant, upTo limit: Int64) {
        guard let highest else { return }
        var end = oldest
        while end <= highest, (self[end]?.arrival ?? .distantPast) < time, end < limit { end += 1 }
        drop(upTo: end)
    }

    /// Drops everything; the next packet is `oldest`.
    mutating func removeAll(from oldest: Int64) {
        removeAll()
        self.oldest = oldest
    }

    /// Drops everything and forgets all numbers.
    mutating func reset() {
        removeAll()
        highest = nil
    }

    private mutating func removeAll() {
        for index in slots.indices { slots[index] = nil }
        bytes = 0
        keyframeStarts.removeAll()
        vp8FrameStarts.removeAll()
    }
}
