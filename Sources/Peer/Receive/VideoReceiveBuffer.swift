import Basics

/// Orders, repairs and assembles one received video stream.
///
/// Retransmissions come in with their original sequence number and payload. It gives out only frames whose references were
/// given out before: when repair comes too late it goes on at the next keyframe and asks for one, except over lost VP8 frames
/// that nothing refers to. Every queue is bounded.
public struct VideoReceiveBuffer: Sendable {
    enum KeyframeStart: Sendable { case no, certain, withKnownParameters }

    struct Slot: Sendable {
        var sequence: Int64
        var timestamp: Int64
        var marker: Bool
        var codec: VideoCodec
        /// Empty: padding only.
        var payload: [UInt8]
        var arrival: Instant
        /// It had been asked for.
        var isRepair: Bool
        var keyframeStart: KeyframeStart
        var startsVP8Frame: Bool
    }

    public internal(set) var statistics = Statistics()
    /// It stands still until a keyframe comes.
    public internal(set) var isAwaitingKeyframe = true

    let configuration: VideoReceiveConfiguration
    var codecs: [UInt8: VideoCodec]
    var slots: [Slot?]
    /// Payloads' memory, to be used again.
    var spare: [[UInt8]] = []
    /// The payloads of the frame that is being made, kept for its memory.
    var assembling: [[UInt8]] = []
    var bytesHeld = 0
    var highest: Int64?
    /// The oldest sequence that may be in `slots`.
    var oldest: Int64 = 0
    /// The first packet of the next frame; nil while no keyframe is in sight.
    var next: Int64?
    /// From `next` on everything before it is there and belongs to one frame.
    var scan: Int64 = 0
    var nacks = NackList()
    var roundTrip: Duration = .milliseconds(100)
    var h264 = H264Depacketizer()
    var vp8 = VP8Depacketizer()
    var lastCodec: VideoCodec?
    var lastVP8: VP8Descriptor?
    var lastEndedWithMarker = false
    var upperLayersBroken = false
    var wantsKeyframe = false
    /// Held packets that begin a keyframe, and those that begin a VP8 frame.
    var keyframeStarts = SequenceIndex()
    var vp8FrameStarts = SequenceIndex()
    /// Up to where the frame that begins at `start` is there without an end, lest it be walked over again for each of its packets.
    var unfinished: (start: Int64, end: Int64)?
    /// The gap for which a keyframe was asked while it may still be mended.
    var hedged: Int64?
    var lastKeyframeRequest: Instant?
    var isRetry = false
    var firstArrival = Instant.zero
    var lastArrival = Instant.distantPast
    /// When the last packet came that had been asked for, and when it was found missing.
    var lastRepair: (at: Instant, noticed: Instant)?

    /// So much missing after such a silence is not worth repairing: the link was dead, and it needs its first moments.
    static let staleGap = 50
    static let outage: Duration = .milliseconds(500)
    /// At the start a keyframe's first packet may have been overtaken.
    static let startGrace: Duration = .milliseconds(50)

    public init(codecs: [UInt8: VideoCodec], configuration: VideoReceiveConfiguration = .init()) {
        self.codecs = codecs
        self.configuration = configuration
        var size = 64
        while size < min(configuration.maximumPackets, 1 << 15) { size *= 2 }
        slots = Array(repeating: nil, count: size)
    }

    /// A new description may bring new payload types.
    public mutating func setCodecs(_ codecs: [UInt8: VideoCodec]) { self.codecs = codecs }

    // MARK: - In

    /// Takes a packet; allocates only while the stream grows. `payload` is without RTX's OSN; empty for padding, which still fills its place in the sequence.
    public mutating func insert(
        payload: Span<UInt8>, payloadType: UInt8, sequence: Int64, timestamp: Int64, marker: Bool, isRetransmission: Bool = false,
        at now: Instant
    ) {
        statistics.packets += 1
        if let next, sequence < next {
            statistics.late += 1
            _ = nacks.arrived(sequence, isRetransmission: isRetransmission, roundTrip: roundTrip, at: now)
            return
        }
        guard makeRoom(for: sequence, at: now) else { return }
        if slots[index(sequence)]?.sequence == sequence {
            statistics.duplicates += 1
            return
        }
        let missing = nacks.arrived(sequence, isRetransmission: isRetransmission, roundTrip: roundTrip, at: now)
        let isRepair = missing.map { $0.tries > 0 } ?? false
        if let missing, isRepair {
            statistics.recovered += 1
            lastRepair = (now, missing.noticed)
        }
        var slot = Slot(
            sequence: sequence, timestamp: timestamp, marker: marker, codec: codecs[payloadType] ?? .vp8, payload: [],
            arrival: now, isRepair: isRepair, keyframeStart: .no, startsVP8Frame: false)
        if codecs[payloadType] != nil, !payload.isEmpty {
            inspect(payload, into: &slot)
            slot.payload = spare.popLast() ?? []
            payload.withUnsafeBufferPointer { slot.payload.append(contentsOf: $0) }
        }
        if let other = slots[index(sequence)] { drop(other.sequence) }
        bytesHeld += slot.payload.count
        slots[index(sequence)] = slot
        noteStarts(sequence)
        if isAwaitingKeyframe, next == nil {
            findKeyframe()
            if next == nil, !wantsKeyframe { wantsKeyframe = true }
        }
        if bytesHeld > configuration.maximumBytes { overflow(at: now) }
    }

    /// The stream starts anew (sequence reset, SSRC change): nothing of the past counts.
    public mutating func reset() {
        clear()
        highest = nil
        next = nil
        lastVP8 = nil
        isAwaitingKeyframe = true
    }

    /// Asks for a keyframe without standing still until it comes.
    public mutating func requestKeyframe() { wantsKeyframe = true }

    /// The decoder lost its state: nothing but a keyframe helps.
    public mutating func requireKeyframe(at now: Instant) { interrupt(at: now) }

    /// Lets time pass: gives up what repair can no longer bring in time.
    public mutating func advance(to now: Instant, roundTrip: Duration) {
        self.roundTrip = roundTrip
        if next == nil {
            // Nothing here can be shown; a keyframe's start may still be among the missing.
            nacks.removeOlder(than: now - hold)
            dropOlder(than: now - hold - .milliseconds(200))
            return
        }
        while let deadline = headDeadline, deadline <= now {
            giveUp(at: now)
        }
        if let due = hedgeDeadline, due <= now {
            hedged = headGap?.sequence
            wantsKeyframe = true
        }
    }

    /// When `advance` or `nextNacks` or `takeKeyframeRequest` has something to do next.
    public var nextDeadline: Instant? {
        var deadline = Instant.distantFuture
        if let due = nacks.nextDue { deadline = min(deadline, due) }
        if let head = headDeadline { deadline = min(deadline, head) }
        if let hedge = hedgeDeadline { deadline = min(deadline, hedge) }
        if mayRequestKeyframe { deadline = min(deadline, nextKeyframeRequest ?? .zero) }
        return deadline == .distantFuture ? nil : deadline
    }

    // MARK: - Out

    /// The next frame that can be decoded.
    public mutating func nextFrame() -> AssembledFrame? {
        while let start = next {
            guard let end = frameEnd(from: start) else {
                // A gap between two VP8 frames of successive picture ids held padding: there is nothing to wait for.
                if skipPadding() || skipToKeyframe() { continue }
                return nil
            }
            let result = take(start..<end)
            if let frame = result { return frame }
        }
        return nil
    }

    /// Sequence numbers to ask for now, in rising order.
    public mutating func nextNacks(at now: Instant) -> [UInt16] {
        let due = nacks.due(at: now, roundTrip: roundTrip)
        statistics.nacksSent += due.count
        return due.map { UInt16(truncatingIfNeeded: $0) }
    }

    /// Whether to send a keyframe request now. Throttled; repeats until a keyframe was given out.
    public mutating func takeKeyframeRequest(at now: Instant) -> Bool {
        guard mayRequestKeyframe else { return false }
        if let due = nextKeyframeRequest, now < due { return false }
        lastKeyframeRequest = now
        isRetry = true
        statistics.keyframeRequests += 1
        return true
    }
}
