import Basics

/// One peer's video: which frames go out, in what order, under which numbers, and what may be sent again.
///
/// Packets are written straight from the shared frame when the pacer lets them go; a queue holds references only.
struct VideoSender: Sendable {
    /// After a keyframe request of ours went unanswered for this long it is repeated.
    static let requestInterval: Duration = .milliseconds(500)
    /// Requests of the peer that come closer are one.
    static let peerRequestInterval: Duration = .milliseconds(300)
    /// Repairs that wait for the pacer at once; more than a second of media would come too late to be shown.
    static let mostRepairs = 256

    var stream: OutgoingStream
    private(set) var repair: OutgoingStream
    private var codecs: [VideoCodec: OutgoingCodec] = [:]
    private var extensions = OutgoingExtensions()
    private var queue = VideoSendQueue()
    private var layers = TemporalLayerGate()
    private var history = RetransmissionHistory()
    /// What was asked for and when last, the oldest packets first: a receiver shows frames in order, and waits for
    /// those.
    private var repairs: [(sequence: SequenceNumber, asked: Instant)] = []
    private var hold = PlayoutDelayController()
    /// What is told with the packets of the frame that is leaving.
    private var toldHold: PlayoutDelay?
    /// The first number of the newest keyframe, and whether all of it has left: nobody needs what was before it then,
    /// and on a thin link its repair would only hold up what is needed.
    private var newestKeyframe: (first: SequenceNumber, isWhole: Bool)?
    private var numbers: PictureNumbers
    /// Only a keyframe may start: at the beginning, after a change of rendition, after a cut.
    private(set) var needsKeyframe = true
    private var currentCodec: VideoCodec?
    /// Of the last frame that was queued, in ticks of the room's clock.
    private var lastTimestamp = Int64.min
    /// A receiver takes frames of one timestamp for one frame, and drops those from the past (RFC 3550 §5.1): a
    /// keyframe of another encoder, made of the same tick as the last frame or of the one before, goes out as if it
    /// were a millisecond younger.
    private static let smallestStep: Int64 = 90
    private var requested: Instant?
    private var wantsRequest = false
    private var firSequences: [SSRC: UInt8] = [:]
    private(set) var width = 0
    private(set) var height = 0

    init(stream: OutgoingStream, repair: OutgoingStream, numbers: PictureNumbers) {
        self.stream = stream
        self.repair = repair
        self.numbers = numbers
    }

    mutating func configure(codecs: [VideoCodec: OutgoingCodec], extensions: OutgoingExtensions) {
        self.codecs = codecs
        // Under GCM one SSRC and number is one nonce, and it protects the header too: what was sent with other
        // extensions is never sent again on its own SSRC.
        if extensions != self.extensions { history = RetransmissionHistory() }
        self.extensions = extensions
        if codecs.isEmpty { queue.removeAll() }
    }

    var isConfigured: Bool { !codecs.isEmpty }
    var codec: VideoCodec? { currentCodec }
    var usesTransportCC: Bool { extensions.transportCC != nil }
    var hasWork: Bool { !queue.isEmpty || !repairs.isEmpty }
    var queuedBytes: Int { queue.bytes }
    func queueDelay(at now: Instant) -> Duration { queue.delay(at: now) }

    // MARK: Frames

    /// Nothing but a keyframe goes out from here on: the frames will come from another encoder.
    mutating func restart(at now: Instant) {
        stream.counters.framesSkipped += queue.cut()
        needsKeyframe = true
        request(at: now)
    }

    /// - Parameter available: what the estimate leaves for video.
    mutating func enqueue(_ frame: PacketizedVideoFrame, available: BitRate, at now: Instant) {
        guard let codec = codecs[frame.codec], !frame.fragments.isEmpty else {
            stream.counters.framesSkipped += 1
            return
        }
        if frame.codec != currentCodec, !needsKeyframe, currentCodec != nil { needsKeyframe = true }
        if queue.isLate(at: now) {
            stream.counters.framesSkipped += queue.cut()
            stream.counters.cuts += 1
            needsKeyframe = true
        }
        if needsKeyframe, !frame.isKeyframe {
            stream.counters.framesSkipped += 1
            request(at: now)
            return
        }
        guard layers.admits(frame, available: available, queueDelay: queue.delay(at: now), at: now) || frame.isKeyframe
        else {
            stream.counters.framesSkipped += 1
            return
        }
        if frame.isKeyframe {
            needsKeyframe = false
            // What waits before a keyframe is not needed to show it.
            stream.counters.framesSkipped += queue.cut()
            if frame.width > 0 {
                width = frame.width
                height = frame.height
            }
        }
        currentCodec = frame.codec
        lastTimestamp = max(frame.timestamp, lastTimestamp &+ Self.smallestStep)
        queue.append(.init(frame: frame, codec: codec, queued: now, timestamp: lastTimestamp))
    }

    private mutating func request(at now: Instant) {
        if let requested, now - requested < Self.requestInterval { return }
        requested = now
        wantsRequest = true
    }

    /// Whether a keyframe must be asked of the encoder; once per need.
    mutating func takeKeyframeRequest() -> Bool {
        defer { wantsRequest = false }
        return wantsRequest
    }

    // MARK: Requests of the peer

    mutating func receive(_ nack: [SequenceNumber], at now: Instant) {
        stream.counters.nacks += 1
        guard codecs.values.contains(where: \.usesNack) else { return }
        // What is not there any more, or never was, is not even noted: what a peer may ask for is bounded by what it
        // was sent.
        for sequence in nack where history.holds(sequence, at: now) {
            let index = repairIndex(of: sequence)
            if index < repairs.count, repairs[index].sequence == sequence {
                // What counts is the newest request: an old one may be for a repair that was on its way, a new one for
                // one that was lost.
                repairs[index].asked = now
            } else if repairs.count < Self.mostRepairs {
                repairs.insert((sequence, now), at: index)
            }
        }
    }

    /// Where `sequence` stands, or belongs, among the repairs. All of them lie within the history, which is shorter
    /// than half of the number space, so that their order is one.
    private func repairIndex(of sequence: SequenceNumber) -> Int {
        var low = 0
        var high = repairs.count
        while low < high {
            let middle = (low + high) / 2
            if repairs[middle].sequence.isBefore(sequence) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    mutating func receivePictureLoss(at now: Instant) {
        stream.counters.pictureLossIndications += 1
        peerRequest(at: now)
    }

    /// - Parameter sender: whose sequence space it is. Repeats carry the same number (RFC 5104 §4.3.1.2).
    mutating func receiveFullIntraRequest(_ sequence: UInt8, from sender: SSRC, at now: Instant) {
        guard firSequences[sender] != sequence else { return }
        if firSequences.count >= 8 { firSequences.removeAll() }
        firSequences[sender] = sequence
        stream.counters.fullIntraRequests += 1
        peerRequest(at: now)
    }

    private mutating func peerRequest(at now: Instant) {
        if let requested, now - requested < Self.peerRequestInterval { return }
        requested = now
        wantsRequest = true
    }

    // MARK: Packets

    /// Sends one lost packet again. Without RTX the very same bytes go out once more.
    ///
    /// - Parameter transport: gives the transport-wide number, and tells which packets arrived.
    mutating func nextRepair(
        into buffer: UnsafeMutableRawBufferPointer, roundTrip: Duration, transport: SentPacketHistory, at now: Instant
    ) -> SentPacket? {
        while !repairs.isEmpty {
            let (sequence, asked) = repairs.removeFirst()
            if let newestKeyframe, newestKeyframe.isWhole, sequence.isBefore(newestKeyframe.first) { continue }
            let packet = history.take(sequence, asked: asked, roundTrip: roundTrip, at: now) {
                transport.hasArrived($0)
            }
            guard let packet else { continue }
            return retransmit(packet, into: buffer, as: transport.nextSequence, isProbe: false, at: now)
        }
        return nil
    }

    /// A packet that only measures: the newest once more, or padding where there is none or where it is too large.
    ///
    /// - Parameters:
    ///   - number: the transport-wide number of the packet.
    ///   - size: about so many bytes of payload.
    mutating func nextProbe(
        into buffer: UnsafeMutableRawBufferPointer, as number: SequenceNumber, size: Int, at now: Instant
    ) -> SentPacket? {
        guard usesTransportCC, let codec = currentCodec.flatMap({ codecs[$0] }) ?? codecs.values.first,
            let payloadType = codec.retransmissionPayloadType
        else { return nil }
        if let packet = history.forProbe(at: now),
            (200...max(size, 200)).contains(packet.frame.fragments[packet.fragment].range.count)
        {
            return retransmit(packet, into: buffer, as: number, isProbe: true, at: now)
        }
        // 255 bytes is the most that RFC 3550 §5.1 allows.
        var writer = RTPPacketWriter(
            buffer, marker: false, payloadType: payloadType, sequence: repair.takeSequence(),
            timestamp: repair.timestamp(now.ticks(at: repair.clockRate)), ssrc: repair.ssrc,
            twoByteExtensions: extensions.needsTwoBytes)
        extensions.write(into: &writer, transportSequence: number, sendTime: OutgoingExtensions.absoluteSendTime(now))
        writer.pad(UInt8(clamping: min(max(size, 60), 255)))
        guard let length = writer.finish() else { return nil }
        repair.counters.packets += 1
        repair.counters.paddingPackets += 1
        repair.counters.paddingBytes += length
        repair.counters.bytes += length
        repair.meter.add(length, at: now)
        return SentPacket(length: length, numbering: .numbered)
    }

    /// The next packet of the next frame.
    ///
    /// - Parameter transport: gives the transport-wide number, and tells which packets arrived.
    mutating func nextMedia(into buffer: UnsafeMutableRawBufferPointer, transport: SentPacketHistory, at now: Instant)
        -> SentPacket?
    {
        guard let (entry, index, isLast) = queue.takeFragment() else { return nil }
        if index == 0 {
            numbers.advance(temporalLayer: entry.frame.temporalLayer)
            if let lateness = history.takeLateness(at: now, hasArrived: { transport.hasArrived($0) }) {
                hold.repaired(after: lateness, at: now)
            }
            toldHold = extensions.playoutDelay == nil ? nil : hold.told(at: now)
        }
        let packet = RetransmissionHistory.Packet(
            sequence: stream.takeSequence(), timestamp: stream.timestamp(entry.timestamp),
            payloadType: entry.codec.payloadType,
            marker: isLast, frame: entry.frame, fragment: index, picture: numbers, sent: now, resent: nil,
            transportSequence: usesTransportCC ? transport.nextSequence : nil,
            sendTime: OutgoingExtensions.absoluteSendTime(now), hold: toldHold)
        guard let length = write(packet, into: buffer) else { return nil }
        if entry.frame.isKeyframe {
            let first = index == 0 ? packet.sequence : newestKeyframe?.first ?? packet.sequence
            newestKeyframe = (first, isLast)
        }
        history.store(packet, bytes: length, rate: stream.meter.rate(at: now))
        stream.counters.packets += 1
        stream.counters.bytes += length
        stream.counters.payloadBytes += entry.frame.fragments[index].range.count
        stream.meter.add(length, at: now)
        if isLast {
            stream.counters.frames += 1
            if entry.frame.isKeyframe { stream.counters.keyframes += 1 }
        }
        return SentPacket(length: length, numbering: usesTransportCC ? .numbered : .unnumbered)
    }

    private mutating func retransmit(
        _ packet: RetransmissionHistory.Packet, into buffer: UnsafeMutableRawBufferPointer, as number: SequenceNumber,
        isProbe: Bool,
        at now: Instant
    ) -> SentPacket? {
        let codec = codecs.values.first { $0.payloadType == packet.payloadType }
        guard let payloadType = codec?.retransmissionPayloadType else {
            guard !isProbe, let length = write(packet, into: buffer) else { return nil }
            // Its number is known to the peer with the first sending's time.
            countRepair(length, at: now)
            return SentPacket(length: length, numbering: .again(packet.transportSequence))
        }
        let transport = usesTransportCC ? number : nil
        if !isProbe, let transport { history.repairing(packet.sequence, as: transport, at: now) }
        var writer = RTPPacketWriter(
            buffer, marker: packet.marker, payloadType: payloadType, sequence: repair.takeSequence(),
            timestamp: packet.timestamp,
            ssrc: repair.ssrc, twoByteExtensions: extensions.needsTwoBytes)
        extensions.write(
            into: &writer, transportSequence: transport, sendTime: OutgoingExtensions.absoluteSendTime(now),
            hold: packet.hold)
        writer.append16(packet.sequence.rawValue)
        writePayload(of: packet, to: &writer)
        guard let length = writer.finish() else { return nil }
        repair.counters.packets += 1
        repair.counters.bytes += length
        repair.counters.payloadBytes += packet.frame.fragments[packet.fragment].range.count + 2
        repair.meter.add(length, at: now)
        if isProbe {
            repair.counters.paddingPackets += 1
            repair.counters.paddingBytes += length
        } else {
            countRepair(length, at: now)
        }
        return SentPacket(length: length, numbering: transport == nil ? .unnumbered : .numbered)
    }

    private mutating func countRepair(_ length: Int, at now: Instant) {
        stream.counters.retransmittedPackets += 1
        stream.counters.retransmittedBytes += length
    }

    private func write(_ packet: RetransmissionHistory.Packet, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        var writer = RTPPacketWriter(
            buffer, marker: packet.marker, payloadType: packet.payloadType, sequence: packet.sequence,
            timestamp: packet.timestamp,
            ssrc: stream.ssrc, twoByteExtensions: extensions.needsTwoBytes)
        extensions.write(
            into: &writer, transportSequence: packet.transportSequence, sendTime: packet.sendTime, hold: packet.hold)
        writePayload(of: packet, to: &writer)
        return writer.finish()
    }

    private func writePayload(of packet: RetransmissionHistory.Packet, to writer: inout RTPPacketWriter) {
        let fragment = packet.frame.fragments[packet.fragment]
        if packet.frame.codec == .vp8 {
            VP8Descriptor(
                startsPartition: fragment.isFirst, pictureID: packet.picture.pictureID,
                temporalLevelZeroIndex: packet.picture.tl0,
                temporalLayer: packet.frame.temporalLayer, layerSync: packet.frame.layerSync
            ).write(to: &writer)
        }
        packet.frame.bytes.withUnsafeBytes { writer.append(UnsafeRawBufferPointer(rebasing: $0[fragment.range])) }
    }
}
