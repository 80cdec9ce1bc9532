import Basics

/// One peer's video: which frames are sent, in what order and under which numbers, and what may be retransmitted.
///
/// Packets are written directly from the shared frame when the pacer allows; the queue holds references only.
struct VideoSender: Sendable {
    /// A keyframe request of ours without an answer is repeated after this time.
    static let requestInterval: Duration = .milliseconds(500)
    /// Requests of the peer that are closer together than this count as one.
    static let peerRequestInterval: Duration = .milliseconds(300)
    /// The most repairs that wait for the pacer; more than a second of media would come too late to be shown.
    static let mostRepairs = 256
    /// The last packets of a frame, which go out again where nothing tells of their loss.
    static let tail = 3

    var stream: OutgoingStream
    private(set) var repair: OutgoingStream
    private var codecs: [VideoCodec: OutgoingCodec] = [:]
    private var extensions = OutgoingExtensions()
    private var queue = VideoSendQueue()
    private var layers = TemporalLayerGate()
    private var history = RetransmissionHistory()
    /// The requested packets and when each was requested last, the oldest packets first: a receiver shows frames in
    /// order, and waits for those.
    private var repairs: [(sequence: SequenceNumber, asked: Instant)] = []
    /// Whether the last packets of each frame go out a second time, after the first.
    var repeatsTail = false
    /// Whether frames are seconds apart, and take seconds to leave.
    var isStills = false {
        didSet { history.age = isStills ? RetransmissionHistory.ageOfStills : RetransmissionHistory.ageInMotion }
    }
    private var hold = PlayoutDelayController()
    /// The playout delay announced with the packets of the frame that is being sent.
    private var announcedHold: PlayoutDelay?
    /// The media time of the newest frame of which a packet has left, in ticks of 90 kHz.
    private var lastFrame: Int64?
    /// The first number of the newest keyframe, and whether all of it has left: then nobody needs what was before it,
    /// and on a thin link its repair would only delay what is needed.
    private var newestKeyframe: (first: SequenceNumber, isWhole: Bool)?
    private var numbers: PictureNumbers
    /// Whether the next frame must be a keyframe: at the beginning, after a change of rendition, after a cut.
    private(set) var needsKeyframe = true
    private var currentCodec: VideoCodec?
    /// The timestamp of the last queued frame, in ticks of the room's clock.
    private var lastTimestamp = Int64.min
    /// A receiver takes frames of one timestamp for one frame, and drops those from the past (RFC 3550 §5.1): a
    /// keyframe of another encoder, made of the same tick as the last frame or of an earlier one, is sent with a
    /// timestamp a millisecond later.
    private static let smallestStep: Int64 = 90
    private var requested: Instant?
    private var requester: KeyframeRequester?
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
        // Under GCM one SSRC and number is one nonce, and it protects the header too: a packet with other extensions is
        // never retransmitted on its own SSRC.
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

    /// Accepts nothing but a keyframe from here on: the frames will come from another encoder.
    mutating func restart(at now: Instant) {
        stream.counters.framesSkipped += queue.cut()
        needsKeyframe = true
        request(at: now)
    }

    /// - Parameter available: the part of the estimate that is left for video.
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
            // The frames that wait before a keyframe are not needed to show it.
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
        requester = requester ?? .sender
    }

    /// Who needs a keyframe of the encoder; once per need.
    mutating func takeKeyframeRequest() -> KeyframeRequester? {
        defer { requester = nil }
        return requester
    }

    // MARK: Requests of the peer

    mutating func receive(_ nack: [SequenceNumber], at now: Instant) {
        stream.counters.nacks += 1
        guard codecs.values.contains(where: \.usesNack) else { return }
        // Packets that are not in the history are not recorded: what a peer may request is bounded by what it was sent.
        for sequence in nack where history.holds(sequence, at: now) {
            let index = repairIndex(of: sequence)
            if index < repairs.count, repairs[index].sequence == sequence {
                // The newest request counts: an old one may be for a repair that was on its way, a new one for one that
                // was lost.
                repairs[index].asked = now
            } else if repairs.count < Self.mostRepairs {
                repairs.insert((sequence, now), at: index)
            }
        }
    }

    /// The index of `sequence` among the repairs, or where it belongs. All of them lie within the history, which is
    /// shorter than half of the number space, so that they have an order.
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

    /// - Parameter sender: the owner of the sequence space. Repetitions carry the same number (RFC 5104 §4.3.1.2).
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
        requester = .peer
    }

    // MARK: Packets

    /// Retransmits one lost packet. Without RTX the same bytes are sent again.
    ///
    /// - Parameter transport: gives the transport-wide number, and knows which packets arrived.
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

    /// A packet for probing: the newest one again, or padding if there is none or it is too large.
    ///
    /// - Parameters:
    ///   - number: the transport-wide number of the packet.
    /// - size: the approximate payload size in bytes.
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
    /// - Parameters:
    ///   - transport: gives the transport-wide number, and knows which packets arrived.
    ///   - loss: the part of all packets that is lost.
    mutating func nextMedia(
        into buffer: UnsafeMutableRawBufferPointer, transport: SentPacketHistory, loss: Double, roundTrip: Duration,
        at now: Instant
    ) -> SentPacket? {
        guard let (entry, index, isLast) = queue.takeFragment() else { return nil }
        if index == 0 {
            numbers.advance(temporalLayer: entry.frame.temporalLayer)
            if let lateness = history.takeLateness(at: now, hasArrived: { transport.hasArrived($0) }) {
                hold.repaired(after: lateness, roundTrip: roundTrip, at: now)
            }
            if let lastFrame { hold.spaced(.nanoseconds((entry.timestamp - lastFrame) * 100_000 / 9)) }
            lastFrame = entry.timestamp
            announcedHold = extensions.playoutDelay == nil ? nil : hold.announcement(at: now)
        }
        let packet = RetransmissionHistory.Packet(
            sequence: stream.takeSequence(), timestamp: stream.timestamp(entry.timestamp),
            payloadType: entry.codec.payloadType,
            marker: isLast, frame: entry.frame, fragment: index, picture: numbers, sent: now, resent: nil,
            transportSequence: usesTransportCC ? transport.nextSequence : nil,
            sendTime: OutgoingExtensions.absoluteSendTime(now), hold: announcedHold)
        guard let length = write(packet, into: buffer) else { return nil }
        if entry.frame.isKeyframe {
            let first = index == 0 ? packet.sequence : newestKeyframe?.first ?? packet.sequence
            newestKeyframe = (first, isLast)
        }
        history.store(packet, bytes: length, rate: stream.meter.rate(at: now), loss: loss, isRepeated: repeatsTail)
        stream.counters.packets += 1
        stream.counters.bytes += length
        stream.counters.payloadBytes += entry.frame.fragments[index].range.count
        stream.meter.add(length, at: now)
        if isLast {
            if repeatsTail { repeatFrame(to: packet.sequence, packets: min(index + 1, Self.tail), at: now) }
            stream.counters.frames += 1
            if entry.frame.isKeyframe { stream.counters.keyframes += 1 }
        }
        return SentPacket(length: length, numbering: usesTransportCC ? .numbered : .unnumbered)
    }

    /// Sends so many packets of the frame that ends with `last` again.
    private mutating func repeatFrame(to last: SequenceNumber, packets: Int, at now: Instant) {
        for sequence in (0..<packets).reversed().map({ last + -$0 }) where repairs.count < Self.mostRepairs {
            let index = repairIndex(of: sequence)
            if index == repairs.count || repairs[index].sequence != sequence {
                repairs.insert((sequence, now), at: index)
            }
        }
    }

    private mutating func retransmit(
        _ packet: RetransmissionHistory.Packet, into buffer: UnsafeMutableRawBufferPointer, as number: SequenceNumber,
        isProbe: Bool,
        at now: Instant
    ) -> SentPacket? {
        let codec = codecs.values.first { $0.payloadType == packet.payloadType }
        guard let payloadType = codec?.retransmissionPayloadType else {
            guard !isProbe, let length = write(packet, into: buffer) else { return nil }
            // Its number belongs to the time of the first transmission.
            countRepair(length, at: now)
            return SentPacket(length: length, numbering: .repeated(packet.transportSequence))
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
