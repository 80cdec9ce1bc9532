import Basics

/// The tunables of video repair.
public struct VideoReceiveConfiguration: Sendable {
    /// A burst of losses lasts about this long, however short the round trip.
    public var minimumHold: Duration = .milliseconds(200)
    /// The longest wait for repair, and that on a long round trip.
    public var maximumHold: Duration = .milliseconds(400)
    public var maximumHoldOnLongPaths: Duration = .milliseconds(600)
    /// Two keyframe requests are at least this far apart: Chrome's sender ignores those closer than 300 ms.
    public var keyframeRequestGap: Duration = .milliseconds(400)
    public var keyframeRetry: Duration = .milliseconds(500)
    public var maximumBytes = 3_000_000
    /// A power of two.
    public var maximumPackets = 2048

    public init() {}
}

/// A whole frame in decoding order.
public struct AssembledFrame: Sendable {
    public var frame: EncodedVideoFrame
    /// Of the packet that completed it.
    public var arrival: Instant
}

/// Orders, repairs and assembles one received video stream.
///
/// Retransmissions come in with their original sequence number and payload. It gives out only frames whose references were
/// given out before: when repair comes too late it goes on at the next keyframe and asks for one, except over lost VP8 frames
/// that nothing refers to. Every queue is bounded.
public struct VideoReceiveBuffer: Sendable {
    public struct Statistics: Sendable, Equatable {
        public var packets = 0
        public var duplicates = 0
        /// Came after they were given up.
        public var late = 0
        public var nacksSent = 0
        /// Arrived after they had been asked for.
        public var recovered = 0
        /// Packets given up.
        public var lost = 0
        public var frames = 0
        public var keyframes = 0
        public var keyframeRequests = 0
        /// How often the stream stood until a keyframe came.
        public var interruptions = 0
        /// Lost or dropped frames that nothing referred to.
        public var skippedFrames = 0
        public var malformed = 0
    }

    enum KeyframeStart: Sendable { case no, certain, withKnownParameters }

    struct Slot: Sendable {
        var sequence: Int64
        var timestamp: Int64
        var marker: Bool
        var codec: VideoCodec
        /// Empty: padding only.
        var payload: [UInt8]
        var arrival: Instant
        var keyframeStart: KeyframeStart
        var startsVP8Frame: Bool
    }

    public private(set) var statistics = Statistics()
    /// It stands still until a keyframe comes.
    public private(set) var isAwaitingKeyframe = true

    private let configuration: VideoReceiveConfiguration
    private var codecs: [UInt8: VideoCodec]
    private var slots: [Slot?]
    private var bytesHeld = 0
    private var highest: Int64?
    /// The oldest sequence that may be in `slots`.
    private var oldest: Int64 = 0
    /// The first packet of the next frame; nil while no keyframe is in sight.
    private var next: Int64?
    /// From `next` on everything before it is there and belongs to one frame.
    private var scan: Int64 = 0
    private var nacks = NackList()
    private var roundTrip: Duration = .milliseconds(100)
    private var h264 = H264Depacketizer()
    private var vp8 = VP8Depacketizer()
    private var lastCodec: VideoCodec?
    private var lastVP8: VP8Descriptor?
    private var lastEndedWithMarker = false
    private var upperLayersBroken = false
    private var wantsKeyframe = false
    private var lastKeyframeRequest: Instant?
    private var isRetry = false
    private var firstArrival = Instant.zero
    private var lastArrival = Instant.distantPast

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

    /// Takes a packet. `payload` is without RTX's OSN; empty for padding, which still fills its place in the sequence.
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
        if let tries = nacks.arrived(sequence, isRetransmission: isRetransmission, roundTrip: roundTrip, at: now), tries > 0 {
            statistics.recovered += 1
        }
        var slot = Slot(
            sequence: sequence, timestamp: timestamp, marker: marker, codec: codecs[payloadType] ?? .vp8, payload: [],
            arrival: now,
            keyframeStart: .no, startsVP8Frame: false)
        if codecs[payloadType] != nil, !payload.isEmpty {
            inspect(payload, into: &slot)
            slot.payload = payload.withUnsafeBufferPointer { Array($0) }
        }
        bytesHeld += slot.payload.count
        slots[index(sequence)] = slot
        if isAwaitingKeyframe, next == nil {
            findKeyframe()
            if next == nil, !wantsKeyframe { wantsKeyframe = true }
        }
        if bytesHeld > configuration.maximumBytes { interrupt(at: now) }
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
    }

    /// When `advance` or `nextNacks` or `takeKeyframeRequest` has something to do next.
    public var nextDeadline: Instant? {
        var deadline = Instant.distantFuture
        if let due = nacks.nextDue { deadline = min(deadline, due) }
        if let head = headDeadline { deadline = min(deadline, head) }
        if mayRequestKeyframe { deadline = min(deadline, nextKeyframeRequest ?? .zero) }
        return deadline == .distantFuture ? nil : deadline
    }

    // MARK: - Out

    /// The next frame that can be decoded.
    public mutating func nextFrame() -> AssembledFrame? {
        while let start = next {
            guard let end = frameEnd(from: start) else {
                // A gap between two VP8 frames of successive picture ids held padding: there is nothing to wait for.
                if skipPadding() { continue }
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

    /// How long a gap may be waited for: long enough for five tries, within the limits. At 10 % loss each way a try fails once in five,
    /// and a keyframe would take a round trip too and lose packets of its own.
    var hold: Duration {
        let wanted = max(configuration.minimumHold, roundTrip * 5 + .milliseconds(40)) + nacks.reorderDelay
        let limit = min(max(configuration.maximumHold, roundTrip * 2), configuration.maximumHoldOnLongPaths)
        return min(wanted, limit)
    }

    // MARK: - Keyframe requests

    private var mayRequestKeyframe: Bool {
        guard wantsKeyframe || isAwaitingKeyframe && highest != nil else { return false }
        // One is on its way in.
        return !(isAwaitingKeyframe && next != nil)
    }

    private var nextKeyframeRequest: Instant? {
        if lastKeyframeRequest == nil, statistics.keyframes == 0 { return firstArrival + Self.startGrace }
        return lastKeyframeRequest.map { $0 + (isRetry ? configuration.keyframeRetry : configuration.keyframeRequestGap) }
    }

    // MARK: - Ring

    private func index(_ sequence: Int64) -> Int { Int(sequence & Int64(slots.count - 1)) }

    private func slot(_ sequence: Int64) -> Slot? {
        guard let slot = slots[index(sequence)], slot.sequence == sequence else { return nil }
        return slot
    }

    /// Notes gaps and keeps the window within the ring; false when the packet is too old for it.
    private mutating func makeRoom(for sequence: Int64, at now: Instant) -> Bool {
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
            if next != nil { interrupt(at: now) }
            drop(upTo: sequence - Int64(slots.count) + 1)
        }
        return true
    }

    private mutating func clear() {
        for index in slots.indices { slots[index] = nil }
        bytesHeld = 0
        nacks.removeAll()
    }

    private mutating func drop(upTo end: Int64) {
        guard end > oldest else { return }
        for sequence in max(oldest, end - Int64(slots.count))..<end {
            guard let slot = slot(sequence) else { continue }
            bytesHeld -= slot.payload.count
            slots[index(sequence)] = nil
        }
        oldest = end
    }

    private mutating func dropOlder(than time: Instant) {
        guard let highest else { return }
        var end = oldest
        while end <= highest, (slot(end)?.arrival ?? .distantPast) < time, end < (nacks.first(from: end)?.sequence ?? .max) {
            end += 1
        }
        drop(upTo: end)
    }

    // MARK: - Frames

    private func inspect(_ payload: Span<UInt8>, into slot: inout Slot) {
        switch slot.codec {
        case .vp8:
            guard let (descriptor, size) = VP8Descriptor.parse(payload), size < payload.count, descriptor.startsFrame else {
                return
            }
            slot.startsVP8Frame = true
            if payload[size] & 1 == 0 { slot.keyframeStart = .certain }
        case .h264:
            guard let peek = H264Depacketizer.peek(payload) else { return }
            if peek.hasSPS {
                slot.keyframeStart = .certain
            } else if peek.hasIDR {
                slot.keyframeStart = .withKnownParameters
            }
        }
    }

    /// Looks for a keyframe's first packet among what is held.
    private mutating func findKeyframe() {
        guard let highest else { return }
        var sequence = oldest
        while sequence <= highest {
            defer { sequence += 1 }
            guard let slot = slot(sequence) else { continue }
            switch slot.keyframeStart {
            case .no: continue
            case .certain: break
            case .withKnownParameters:
                // Its own parameter sets could have been in the packet before it.
                guard h264.hasParameterSets, let before = self.slot(sequence - 1),
                    before.marker || before.timestamp != slot.timestamp
                else { continue }
            }
            next = sequence
            scan = sequence
            statistics.lost += nacks.removeBefore(sequence)
            drop(upTo: sequence)
            return
        }
    }

    /// Where the frame that starts at `start` ends, once it is complete.
    private mutating func frameEnd(from start: Int64) -> Int64? {
        guard let highest else { return nil }
        var timestamp: Int64?
        var sequence = start
        if scan > start, let first = slot(start), !first.payload.isEmpty {
            timestamp = first.timestamp
            sequence = scan
        }
        while sequence <= highest {
            guard let slot = slot(sequence) else { break }
            if slot.payload.isEmpty {
                sequence += 1
                // Padding before a frame belongs to none.
                if timestamp == nil { return sequence }
                continue
            }
            if let timestamp, slot.timestamp != timestamp { return sequence }
            timestamp = slot.timestamp
            sequence += 1
            if slot.marker { return sequence }
        }
        scan = sequence
        return nil
    }

    /// Takes a complete run of packets out and makes its frame; nil when it gave none.
    private mutating func take(_ range: Range<Int64>) -> AssembledFrame? {
        var payloads: [[UInt8]] = []
        var arrival = Instant.distantPast
        var timestamp: Int64 = 0
        var codec = lastCodec ?? .vp8
        var marker = false
        for sequence in range {
            guard let slot = slot(sequence), !slot.payload.isEmpty else { continue }
            if payloads.isEmpty {
                timestamp = slot.timestamp
                codec = slot.codec
            }
            arrival = max(arrival, slot.arrival)
            marker = marker || slot.marker
            payloads.append(slot.payload)
        }
        consume(upTo: range.upperBound)
        guard !payloads.isEmpty else { return nil }
        let result =
            switch codec {
            case .h264: h264.assemble(payloads, timestamp: timestamp)
            case .vp8: vp8.assemble(payloads, timestamp: timestamp)
            }
        switch result {
        case .nothing: return nil
        case .broken:
            statistics.malformed += 1
            interrupt(at: arrival)
            return nil
        case .frame(let frame):
            if !frame.isKeyframe, isAwaitingKeyframe || codec != lastCodec {
                interrupt(at: arrival)
                return nil
            }
            return accept(frame, payloads: payloads, marker: marker, arrival: arrival)
        }
    }

    private mutating func accept(_ frame: EncodedVideoFrame, payloads: [[UInt8]], marker: Bool, arrival: Instant)
        -> AssembledFrame?
    {
        lastCodec = frame.codec
        lastEndedWithMarker = marker
        var descriptor: VP8Descriptor?
        if frame.codec == .vp8, let first = payloads.first { descriptor = VP8Descriptor.parse(first.span)?.descriptor }
        lastVP8 = descriptor
        if frame.isKeyframe {
            isAwaitingKeyframe = false
            wantsKeyframe = false
            isRetry = false
            upperLayersBroken = false
            statistics.keyframes += 1
        } else if frame.temporalLayer > 0, upperLayersBroken {
            guard descriptor?.layerSync == true else {
                statistics.skippedFrames += 1
                return nil
            }
            upperLayersBroken = false
        }
        statistics.frames += 1
        return AssembledFrame(frame: frame, arrival: arrival)
    }

    private mutating func consume(upTo end: Int64) {
        next = end
        scan = end
        drop(upTo: end)
        statistics.lost += nacks.removeBefore(end)
    }

    // MARK: - Giving up

    /// When the first missing packet that holds up the next frame is given up; nil when none does.
    private var headDeadline: Instant? {
        guard let next, let entry = nacks.first(from: next) else { return nil }
        return entry.noticed + hold
    }

    private mutating func giveUp(at now: Instant) {
        if let resume = droppableGapEnd() {
            statistics.skippedFrames += 1
            upperLayersBroken = true
            consume(upTo: resume)
            return
        }
        interrupt(at: now)
    }

    /// Stands still from here on: drops all before the next keyframe's start, which may be here already.
    private mutating func interrupt(at now: Instant) {
        if !isAwaitingKeyframe { statistics.interruptions += 1 }
        isAwaitingKeyframe = true
        wantsKeyframe = true
        isRetry = false
        if let current = next {
            // The keyframe that failed must not be found again: leave it with all up to the gap.
            let entry = nacks.first(from: current)
            drop(upTo: max(current, (entry?.sequence ?? current - 1) + 1))
            statistics.lost += nacks.removeBefore(oldest)
        }
        next = nil
        findKeyframe()
    }

    /// The start of the first whole VP8 frame after the gap.
    private func vp8FrameStart(after sequence: Int64) -> (sequence: Int64, descriptor: VP8Descriptor)? {
        guard let highest, sequence <= highest else { return nil }
        for candidate in sequence...highest {
            guard let slot = slot(candidate), slot.codec == .vp8, slot.startsVP8Frame else { continue }
            guard let descriptor = VP8Descriptor.parse(slot.payload.span)?.descriptor else { return nil }
            return (candidate, descriptor)
        }
        return nil
    }

    /// Steps over lost padding: the missing packets lie between two frames whose picture ids follow one another.
    private mutating func skipPadding() -> Bool {
        guard !isAwaitingKeyframe, let start = next, slot(start) == nil, lastCodec == .vp8, lastEndedWithMarker,
            let last = lastVP8,
            let lastID = last.pictureID, let (sequence, descriptor) = vp8FrameStart(after: start),
            let id = descriptor.pictureID, descriptor.hasLongPictureID == last.hasLongPictureID
        else { return false }
        let mask: UInt16 = last.hasLongPictureID ? 0x7FFF : 0x7F
        guard (lastID &+ 1) & mask == id else { return false }
        consume(upTo: sequence)
        return true
    }

    /// Where to go on over a gap that took only frames that no later base-layer frame refers to; nil when one may.
    private func droppableGapEnd() -> Int64? {
        guard !isAwaitingKeyframe, lastCodec == .vp8, let start = next, let gap = nacks.first(from: start),
            let (sequence, descriptor) = vp8FrameStart(after: gap.sequence), let last = lastVP8
        else { return nil }
        if let lastZero = last.temporalLevelZeroIndex, let zero = descriptor.temporalLevelZeroIndex,
            let layer = descriptor.temporalLayer
        {
            // The base layer's counter shows that no base frame is missing.
            return zero == (layer == 0 ? lastZero &+ 1 : lastZero) ? sequence : nil
        }
        // Without layers: the broken frame itself says that nothing refers to it, and no other is missing.
        guard let broken = slot(start), broken.startsVP8Frame, let own = VP8Descriptor.parse(broken.payload.span)?.descriptor,
            own.isNonReference, let ownID = own.pictureID, let id = descriptor.pictureID
        else { return nil }
        let mask: UInt16 = own.hasLongPictureID ? 0x7FFF : 0x7F
        return (ownID &+ 1) & mask == id ? sequence : nil
    }
}
