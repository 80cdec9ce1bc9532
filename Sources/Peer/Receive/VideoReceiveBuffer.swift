import Basics

/// A whole frame in decoding order.
struct AssembledFrame: Sendable {
    var frame: EncodedVideoFrame
    /// The arrival of the packet that completed it.
    var arrival: Instant
    /// Whether a packet of it had been missing and was requested.
    var isRepaired: Bool
}

/// Orders, repairs and assembles one received video stream.
///
/// Retransmissions come in with their original sequence number and payload. Only frames whose references were delivered
/// before are delivered: if a repair comes too late, the stream continues at the next keyframe and requests one, except
/// over lost VP8 frames that nothing refers to. Every queue is bounded.
///
/// `VideoPacketRing` holds the packets, `NackList` the missing ones, `RepairDeadline` determines how long to wait for
/// them, `VideoFrameAssembler` assembles frames and knows which can be decoded, and `KeyframeRequests` requests a
/// keyframe if none can.
struct VideoReceiveBuffer: Sendable {
    struct Statistics: Sendable, Equatable {
        var packets = 0
        var duplicates = 0
        /// Packets that came after they were abandoned.
        var late = 0
        var nacksSent = 0
        /// Packets that came after they had been requested.
        var recovered = 0
        /// Packets that were abandoned.
        var lost = 0
        var frames = 0
        var keyframes = 0
        var keyframeRequests = 0
        /// How often the stream was interrupted until a keyframe came.
        var interruptions = 0
        /// Lost or dropped frames that nothing refers to.
        var skippedFrames = 0
        var malformed = 0
        /// Frames that were dropped because they exceeded a limit of bytes, packets or NAL units.
        var oversizedFrames = 0
    }

    /// The most packets of a frame of which the rest may be awaited for longer.
    private static let shortFrame: Int64 = 32
    /// A gap of more packets than this after such a silence is not repaired: the link was dead, and its first moments
    /// must not be spent on repair.
    private static let staleGap = 50
    private static let outage: Duration = .milliseconds(500)

    private(set) var statistics = Statistics()
    /// Whether the stream is interrupted until a keyframe comes.
    private(set) var isAwaitingKeyframe = true

    private let maximumBytes: Int
    private var codecs: [UInt8: VideoCodec]
    private var ring: VideoPacketRing
    private var scan = VideoFrameScan()
    private var nacks = NackList()
    private let holdOfNewestFrame: Duration
    private var repair: RepairDeadline
    private var assembler = VideoFrameAssembler()
    private var requests: KeyframeRequests
    private var lastArrival = Instant.distantPast

    init(codecs: [UInt8: VideoCodec], configuration: VideoReceiveConfiguration = .init()) {
        self.codecs = codecs
        maximumBytes = configuration.maximumBytes
        ring = VideoPacketRing(capacity: configuration.maximumPackets)
        holdOfNewestFrame = configuration.holdOfNewestFrame
        repair = RepairDeadline(configuration)
        requests = KeyframeRequests(configuration)
    }

    /// Sets the payload types, which a new description may change.
    mutating func setCodecs(_ codecs: [UInt8: VideoCodec]) { self.codecs = codecs }

    /// The bytes of all packets held.
    var bytesHeld: Int { ring.bytes }

    // MARK: - Input

    /// Takes a packet; allocates only while the stream grows. `payload` is without RTX's OSN; empty for padding, which
    /// still takes its place in the sequence.
    mutating func insert(
        payload: Span<UInt8>, payloadType: UInt8, sequence: Int64, timestamp: Int64, marker: Bool,
        isRetransmission: Bool = false,
        at now: Instant
    ) {
        statistics.packets += 1
        if let next = scan.next, sequence < next {
            statistics.late += 1
            _ = nacks.arrived(sequence, isRetransmission: isRetransmission, roundTrip: repair.roundTrip, at: now)
            return
        }
        guard makeRoom(for: sequence, at: now) else { return }
        guard !ring.contains(sequence) else {
            statistics.duplicates += 1
            return
        }
        let missing = nacks.arrived(sequence, isRetransmission: isRetransmission, roundTrip: repair.roundTrip, at: now)
        let isRepair = missing.map { $0.tries > 0 } ?? false
        if let missing, isRepair {
            statistics.recovered += 1
            repair.repaired(noticed: missing.noticed, at: now)
        }
        let codec = codecs[payloadType]
        let packet = VideoPacket(
            sequence: sequence, timestamp: timestamp, marker: marker, codec: codec ?? .vp8, arrival: now,
            isRepair: isRepair)
        ring.insert(
            packet, payload.extracting(0..<(codec == nil ? 0 : payload.count)),
            knowsParameterSets: assembler.knowsParameterSets)
        if isAwaitingKeyframe, scan.next == nil {
            findKeyframe()
            if scan.next == nil { requests.need() }
        }
        if ring.bytes > maximumBytes { overflow() }
    }

    /// Records gaps and keeps the window within the ring; false if the packet is too old for it.
    private mutating func makeRoom(for sequence: Int64, at now: Instant) -> Bool {
        defer { lastArrival = now }
        switch ring.note(sequence) {
        case .first: requests.start(at: now)
        case .behind: break
        case .ahead(let gap): note(gap, before: sequence, at: now)
        case .tooOld:
            statistics.late += 1
            return false
        }
        return true
    }

    private mutating func note(_ gap: Range<Int64>, before sequence: Int64, at now: Instant) {
        let isStale = gap.count > Self.staleGap && now - lastArrival > Self.outage
        if isStale || gap.count >= ring.capacity || !nacks.note(gap, at: now) {
            // Too much is missing to be requested.
            statistics.lost += gap.count
            nacks.removeAll()
            scan.clear()
            ring.removeAll(from: sequence)
            interrupt()
            return
        }
        guard sequence - (scan.next ?? ring.oldest) >= Int64(ring.capacity) else { return }
        if scan.next != nil {
            // Without a gap in it the ring is full of one frame.
            guard headGap != nil else { return overflow() }
            interrupt()
        }
        ring.drop(upTo: sequence - Int64(ring.capacity) + 1)
        if let next = scan.next, next < ring.oldest { interrupt() }
    }

    /// Starts anew (sequence reset, change of SSRC): the past is forgotten.
    mutating func reset() {
        ring.reset()
        nacks.removeAll()
        scan.clear()
        scan.clearNext()
        assembler.reset()
        isAwaitingKeyframe = true
    }

    /// Requests a keyframe without interrupting the stream until it comes.
    mutating func requestKeyframe() { requests.need() }

    // MARK: - Time

    /// Advances to `now`: abandons gaps that repair can no longer fill in time.
    mutating func advance(to now: Instant, roundTrip: Duration) {
        repair.setRoundTrip(roundTrip)
        guard scan.next != nil else {
            // Nothing here can be shown; a keyframe's start may still be among the missing packets.
            let hold = repair.hold(reorderDelay: nacks.reorderDelay)
            nacks.removeOlder(than: now - hold)
            ring.dropOlder(
                than: now - hold - .milliseconds(200), upTo: nacks.first(from: ring.oldest)?.sequence ?? .max)
            return
        }
        while let deadline = headDeadline, deadline <= now { giveUp() }
        if let due = hedgeDeadline, due <= now, let gap = headGap {
            repair.hedged(gap)
            requests.need()
        }
    }

    /// When `advance` or `nextNacks` or `takeKeyframeRequest` has something to do next.
    var nextDeadline: Instant? {
        var deadline = Instant.distantFuture
        if let due = nacks.nextDue { deadline = min(deadline, due) }
        if let head = headDeadline { deadline = min(deadline, head) }
        if let hedge = hedgeDeadline { deadline = min(deadline, hedge) }
        if mayRequestKeyframe { deadline = min(deadline, requests.earliest(roundTrip: repair.roundTrip) ?? .zero) }
        return deadline == .distantFuture ? nil : deadline
    }

    /// The first missing packet that holds up the next frame; nil if none does.
    private var headGap: NackList.Entry? { scan.next.flatMap { nacks.first(from: $0) } }

    private var headDeadline: Instant? {
        headGap.map { gap in
            let deadline = repair.deadline(of: gap, reorderDelay: nacks.reorderDelay)
            // Behind the newest frame nothing waits, as with stills: it is repaired as long as the sender may have it.
            return hasNewerFrame(than: gap.sequence)
                ? deadline : max(deadline, gap.noticed + holdOfNewestFrame)
        }
    }

    /// Whether a packet may have come of a later frame than that of a missing packet: not if the packet before it is of the
    /// newest frame, nor if the next one is and goes on with a frame.
    private func hasNewerFrame(than missing: Int64) -> Bool {
        guard let newest = ring.highest.flatMap({ ring[$0] }), newest.sequence - missing <= Self.shortFrame else {
            return true
        }
        if let before = ring[missing - 1] { return newest.timestamp != before.timestamp }
        guard let next = (missing...newest.sequence).lazy.compactMap({ ring[$0] }).first else { return true }
        return newest.timestamp != next.timestamp || next.codec != .vp8 || next.startsVP8Frame
    }

    private var hedgeDeadline: Instant? {
        guard let due = headGap.flatMap({ repair.hedge(of: $0, reorderDelay: nacks.reorderDelay) }),
            droppableGapEnd == nil
        else { return nil }
        return due
    }

    private var mayRequestKeyframe: Bool {
        guard requests.isNeeded || isAwaitingKeyframe && ring.highest != nil else { return false }
        // A keyframe is already arriving.
        return !(isAwaitingKeyframe && scan.next != nil)
    }

    // MARK: - Output

    /// The next frame that can be decoded.
    mutating func nextFrame() -> AssembledFrame? {
        while let start = scan.next {
            guard let end = scan.frameEnd(from: start, in: ring) else {
                // A gap between two VP8 frames with successive picture ids was padding: there is nothing to wait for.
                if skipPadding() || skipToKeyframe() { continue }
                return nil
            }
            if let frame = takeFrame(start..<end) { return frame }
        }
        return nil
    }

    /// Removes a complete run of packets and assembles its frame; nil if it gave none.
    private mutating func takeFrame(_ range: Range<Int64>) -> AssembledFrame? {
        var run = ring.take(range)
        defer { ring.recycle(&run.payloads) }
        resume(at: range.upperBound)
        guard !run.payloads.isEmpty else { return nil }
        let knewParameterSets = assembler.knowsParameterSets
        let result = assembler.assemble(run, isAwaitingKeyframe: isAwaitingKeyframe)
        if !knewParameterSets, assembler.knowsParameterSets { ring.parameterSetsAreKnown() }
        switch result {
        case .nothing: return nil
        case .broken: statistics.malformed += 1
        case .oversized: statistics.oversizedFrames += 1
        case .undecodable: break
        case .skipped:
            statistics.skippedFrames += 1
            return nil
        case .frame(let frame):
            statistics.frames += 1
            if frame.isKeyframe {
                statistics.keyframes += 1
                isAwaitingKeyframe = false
                requests.satisfied()
            }
            return AssembledFrame(frame: frame, arrival: run.arrival, isRepaired: run.isRepaired)
        }
        interrupt()
        return nil
    }

    /// The sequence numbers to request now, in rising order.
    mutating func nextNacks(at now: Instant) -> [SequenceNumber] {
        let due = nacks.due(at: now, roundTrip: repair.roundTrip)
        statistics.nacksSent += due.count
        return due.map { SequenceNumber(wrapping: $0) }
    }

    /// Whether to send a keyframe request now. Rate-limited; repeats until a keyframe was delivered.
    mutating func takeKeyframeRequest(at now: Instant) -> Bool {
        guard mayRequestKeyframe else { return false }
        if let due = requests.earliest(roundTrip: repair.roundTrip), now < due { return false }
        requests.sent(at: now)
        statistics.keyframeRequests += 1
        return true
    }

    // MARK: - Gaps

    /// Continues at `sequence`, where the next frame begins, and drops everything before it.
    private mutating func resume(at sequence: Int64) {
        scan.move(to: sequence)
        ring.drop(upTo: sequence)
        statistics.lost += nacks.removeBefore(sequence)
    }

    /// Searches the held packets for a keyframe's first one.
    private mutating func findKeyframe() {
        if let start = ring.firstKeyframeStart { resume(at: start) }
    }

    /// Abandons the first gap: continues after droppable frames, or at the next keyframe.
    private mutating func giveUp() {
        guard let end = droppableGapEnd else { return interrupt() }
        statistics.skippedFrames += 1
        assembler.skippedFrame()
        resume(at: end)
    }

    /// Interrupts the stream: drops everything before the next keyframe's start, which may have arrived already.
    private mutating func interrupt() {
        if !isAwaitingKeyframe { statistics.interruptions += 1 }
        isAwaitingKeyframe = true
        requests.needAnother()
        if let current = scan.next {
            // The keyframe that failed must not be found again: it is dropped with everything up to the gap.
            let gap = nacks.first(from: current)
            ring.drop(upTo: max(current, (gap?.sequence ?? current - 1) + 1))
            statistics.lost += nacks.removeBefore(ring.oldest)
        }
        scan.clearNext()
        findKeyframe()
    }

    /// Handles a full buffer, which holds more than any frame needs. If that is one frame without an end, it is
    /// abandoned and counted.
    private mutating func overflow() {
        interrupt()
        guard let highest = ring.highest, ring.bytes > maximumBytes || ring.isFull else { return }
        statistics.oversizedFrames += 1
        scan.clearNext()
        statistics.lost += nacks.removeBefore(highest)
        ring.drop(upTo: highest)
    }

    /// Skips lost padding: the missing packets lie between two frames with successive picture ids.
    private mutating func skipPadding() -> Bool {
        guard !isAwaitingKeyframe, let start = scan.next, ring[start] == nil,
            let (sequence, descriptor) = ring.vp8FrameStart(from: start),
            assembler.isFollowed(by: descriptor)
        else { return false }
        resume(at: sequence)
        return true
    }

    /// Continues at a complete keyframe after the gap: what is missing before it would only come late.
    private mutating func skipToKeyframe() -> Bool {
        guard let start = scan.next, let keyframe = ring.lastKeyframeStart, keyframe > start,
            scan.isWhole(from: keyframe, in: ring)
        else { return false }
        if let gap = headGap, gap.sequence < keyframe { statistics.skippedFrames += 1 }
        resume(at: keyframe)
        return true
    }

    /// Where to continue after a gap that took only frames to which no later base-layer frame refers; nil if one may.
    private var droppableGapEnd: Int64? {
        guard !isAwaitingKeyframe, let start = scan.next, let gap = nacks.first(from: start),
            let (sequence, descriptor) = ring.vp8FrameStart(from: gap.sequence),
            assembler.canResume(with: descriptor, broken: ring[start])
        else { return nil }
        return sequence
    }
}
