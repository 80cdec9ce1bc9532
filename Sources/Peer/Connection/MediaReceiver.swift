import Basics

/// Everything that comes in as RTP from one peer: identification, counting, repair, assembly, and the reports about it.
struct MediaReceiver {
    /// Feedback about arrivals (libwebrtc adapts 50–250 ms): of 80 bytes each, so a thin line, on which little comes in, gets fewer.
    static let feedbackInterval: Duration = .milliseconds(100)
    static let slowFeedbackInterval: Duration = .milliseconds(200)
    /// So many packets in the shorter interval are no thin line.
    static let busyPackets = 6
    /// A simulcast layer that is silent for so long is not there.
    static let layerTimeout: Duration = .seconds(2)
    /// Simulcast layers that are told apart; browsers send three, and each may hold a second of packets.
    static let mostLayers = 4

    /// A class, so that the table's look-ups hand out references: a buffer is large to copy.
    private final class VideoLayer {
        let rid: Int?
        var buffer: VideoReceiveBuffer
        var height = 0
        /// Of its last packet: what may be asked for is agreed for each.
        var payloadType: UInt8?
        /// Full intra requests so far: each new one has the next number (RFC 5104 §4.3.1.1).
        var intraRequests: UInt8 = 0

        init(rid: Int?, buffer: VideoReceiveBuffer) {
            self.rid = rid
            self.buffer = buffer
        }
    }

    private var identification: StreamIdentification?
    private var streams: [UInt32: InboundStream] = [:]
    private var videoLayers: [UInt32: VideoLayer] = [:]
    private var currentVideo: UInt32? { didSet { noteBuffered() } }
    /// A layer that takes over with its first whole frame.
    private var nextVideo: UInt32? { didSet { noteBuffered() } }
    /// Both of them.
    private var bufferedVideo: [UInt32] = []
    private var audioSSRC: UInt32?
    private var clock = SenderClock()
    private var recorder = TransportFeedbackRecorder()
    private var nextTransportFeedback: Instant?
    private var feedbackPackets = 0
    private var transportCC: UInt8?
    private var audioLevelID: UInt8?
    private var playoutDelayID: UInt8?
    /// What the sender of the pictures said last.
    private var hold: Duration?
    /// The payload types of redundant sound and of what it holds.
    private var redundancy: (red: UInt8, opus: UInt8)?
    private var audioSection: NegotiatedSection?
    private var videoSection: NegotiatedSection?
    private var audioIndex = -1
    private var videoIndex = -1
    private var videoCodecs: [UInt8: VideoCodec] = [:]
    private var videoFeedback: [UInt8: CodecFeedback] = [:]
    private let configuration: VideoReceiveConfiguration
    private var wantedHeight: Int?
    private var freezes = FreezeCounter()
    private var frames = 0
    private var keyframes = 0
    private var width = 0
    private var height = 0
    private var lastCodec: VideoCodec?
    private var retransmitted = 0
    private var pictureRequests = 0
    private var audioFrames = 0
    /// Of layers that are gone.
    private var oversizedFrames = 0
    private(set) var malformed = 0
    private var audio: [ReceivedAudioPacket] = []
    private var frameQueue: [ReceivedVideoFrame] = []

    init(_ configuration: VideoReceiveConfiguration) {
        self.configuration = configuration
    }

    // MARK: Settings

    mutating func configure(_ session: NegotiatedSession, at now: Instant) {
        var sections: [StreamIdentification.Section] = []
        var ids = StreamIdentification.ExtensionIDs(mid: nil)
        audioSection = nil
        redundancy = nil
        videoSection = nil
        transportCC = nil
        for (index, section) in session.sections.enumerated() where section.accepted && section.kind != .application {
            if section.kind == .audio {
                audioSection = section
                audioIndex = index
                audioLevelID = section.headerExtensions.audioLevel
                redundancy = section.codecs.first.flatMap { opus in opus.redPayloadType.map { (red: $0, opus: opus.payloadType) } }
            } else {
                videoSection = section
                videoIndex = index
                playoutDelayID = section.headerExtensions.playoutDelay
            }
            transportCC = transportCC ?? section.headerExtensions.transportCC
            ids.mid = ids.mid ?? section.headerExtensions.mid
            ids.rid = ids.rid ?? section.headerExtensions.rid
            ids.repairedRID = ids.repairedRID ?? section.headerExtensions.repairedRID
            guard section.direction.receives else { continue }
            var repairs: [UInt8: UInt8] = [:]
            for codec in section.codecs { if let rtx = codec.rtxPayloadType { repairs[rtx] = codec.payloadType } }
            sections.append(
                .init(
                    index: index, mid: section.mid, payloadTypes: section.codecs.flatMap { [$0.payloadType, $0.redPayloadType].compactMap { $0 } },
                    retransmissionPayloadTypes: repairs, ssrcs: section.remoteSources.map { ($0.ssrc, $0.rtx) },
                    rids: Array(section.remoteRIDs.prefix(Self.mostLayers))))
        }
        videoCodecs = [:]
        videoFeedback = [:]
        for codec in videoSection?.codecs ?? [] {
            videoCodecs[codec.payloadType] = codec.name.video
            videoFeedback[codec.payloadType] = codec.feedback
        }
        for ssrc in videoLayers.keys { videoLayers[ssrc]?.buffer.setCodecs(videoCodecs) }
        if identification == nil {
            identification = StreamIdentification(sections: sections, extensions: ids)
        } else {
            identification?.update(sections: sections, extensions: ids, at: now)
        }
    }

    mutating func setWantedHeight(_ height: Int?, at now: Instant) {
        wantedHeight = height
        chooseLayer(at: now)
    }

    mutating func requestKeyframe() {
        if let currentVideo { videoLayers[currentVideo]?.buffer.requestKeyframe() }
    }

    var receivesAnything: Bool { !streams.isEmpty }

    // MARK: Packets

    /// A decrypted RTP packet.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: Instant) {
        let span = bytes.bindMemory(to: UInt8.self).span
        guard let header = try? RTPHeader(parsing: span) else {
            malformed += 1
            return
        }
        // Every packet counts, probes and padding too, or the sender's estimate sticks.
        if let transportCC, let number = header.extension16(transportCC, in: span) {
            recorder.received(number, at: now)
            noteFeedback(at: now)
        }
        guard let stream = identification?.identify(header, in: span, at: now), header.ssrc != 0 else { return }
        if stream.section == audioIndex {
            receiveAudio(header, span, at: now)
        } else if stream.section == videoIndex {
            stream.isRetransmission ? receiveRepair(header, stream, span, at: now) : receiveVideo(header, stream, span, at: now)
        }
    }

    private mutating func noteFeedback(at now: Instant) {
        feedbackPackets += 1
        guard let due = nextTransportFeedback else {
            feedbackPackets = 1
            nextTransportFeedback = now + Self.slowFeedbackInterval
            return
        }
        if feedbackPackets == Self.busyPackets {
            nextTransportFeedback = max(now, due - (Self.slowFeedbackInterval - Self.feedbackInterval))
        }
    }

    private mutating func receiveAudio(_ header: RTPHeader, _ span: Span<UInt8>, at now: Instant) {
        if audioSSRC != header.ssrc {
            if let old = audioSSRC {
                streams[old] = nil
                clock.forget(ssrc: old)
            }
            audioSSRC = header.ssrc
        }
        var stream = streams.removeValue(forKey: header.ssrc) ?? InboundStream(ssrc: header.ssrc, clockRate: 48_000, at: now)
        let numbers = stream.accept(header, bytes: span.count, at: now)
        streams[header.ssrc] = stream
        guard let numbers, !header.payloadRange.isEmpty else { return }
        let level = audioLevelID.flatMap { header.extension8($0, in: span) }.map { AudioLevel(byte: $0).level }
        let capture = clock.captureTime(ssrc: header.ssrc, timestamp: numbers.timestamp, clockRate: 48_000, arrival: now)
        let payload = span.extracting(header.payloadRange)
        let newest = ReceivedAudioPacket(
            payload: [], sequence: numbers.sequence, timestamp: numbers.timestamp, marker: header.marker, level: level, captureTime: capture,
            arrival: now, ssrc: header.ssrc)
        guard let redundancy, header.payloadType == redundancy.red else { return take(newest, payload) }
        guard let parsed = RedundantAudio(parsing: payload) else {
            malformed += 1
            return
        }
        for (index, block) in parsed.blocks.enumerated() where block.payloadType == redundancy.opus && !block.range.isEmpty {
            var packet = newest
            let back = parsed.blocks.count - 1 - index
            if back > 0 {
                // A copy has no number of its own. Senders repeat the packets right before this one.
                packet.sequence &-= Int64(back)
                packet.timestamp &-= Int64(block.timestampOffset)
                packet.captureTime = capture - .nanoseconds(Int64(block.timestampOffset) * 1_000_000_000 / 48_000)
                packet.marker = false
                packet.level = nil
                packet.isCopy = true
            }
            take(packet, payload.extracting(block.range))
        }
    }

    private mutating func take(_ packet: ReceivedAudioPacket, _ payload: Span<UInt8>) {
        var packet = packet
        packet.payload = payload.withUnsafeBufferPointer { Array($0) }
        if !packet.isCopy { audioFrames += 1 }
        audio.append(packet)
    }

    private mutating func receiveVideo(
        _ header: RTPHeader, _ identity: StreamIdentification.Stream, _ span: Span<UInt8>, at now: Instant
    ) {
        let ssrc = header.ssrc
        if videoLayers[ssrc] == nil { replaceLayer(ssrc, rid: identity.rid, at: now) }
        var stream = streams.removeValue(forKey: ssrc) ?? InboundStream(ssrc: ssrc, clockRate: 90_000, at: now)
        let numbers = stream.accept(header, bytes: span.count, at: now)
        streams[ssrc] = stream
        if currentVideo == nil {
            currentVideo = ssrc
        } else if identity.rid != nil, ssrc != currentVideo {
            chooseLayer(at: now)
        }
        guard let numbers, ssrc == currentVideo || ssrc == nextVideo else { return }
        if stream.wasReset { videoLayers[ssrc]?.buffer.reset() }
        if let playoutDelayID, let value = header.extension24(playoutDelayID, in: span) { hold = PlayoutDelay(value: value).minimum }
        videoLayers[ssrc]?.payloadType = header.payloadType
        videoLayers[ssrc]?.buffer.insert(
            payload: span.extracting(header.payloadRange), payloadType: header.payloadType, sequence: numbers.sequence,
            timestamp: numbers.timestamp, marker: header.marker, at: now)
        takeFrames(ssrc, at: now)
    }

    private mutating func receiveRepair(
        _ header: RTPHeader, _ identity: StreamIdentification.Stream, _ span: Span<UInt8>, at now: Instant
    ) {
        guard streams[header.ssrc] != nil || streams.count < StreamIdentification.maximumStreams else { return }
        var own = streams.removeValue(forKey: header.ssrc) ?? InboundStream(ssrc: header.ssrc, clockRate: 90_000, at: now)
        _ = own.accept(header, bytes: span.count, at: now)
        streams[header.ssrc] = own
        guard let original = RetransmittedPayload(header: header, in: span) else { return }
        retransmitted += 1
        guard let media = identity.mediaSSRC, media == currentVideo || media == nextVideo,
            let numbers = streams[media]?.numbers(original: original.originalSequence, timestamp: header.timestamp)
        else { return }
        videoLayers[media]?.buffer.insert(
            payload: span.extracting(original.payloadRange), payloadType: identity.mediaPayloadType, sequence: numbers.sequence,
            timestamp: numbers.timestamp, marker: header.marker, isRetransmission: true, at: now)
        takeFrames(media, at: now)
    }

    /// A new SSRC on a layer is a new stream; the one before is over.
    private mutating func replaceLayer(_ ssrc: UInt32, rid: Int?, at now: Instant) {
        for (old, layer) in videoLayers where layer.rid == rid {
            oversizedFrames += layer.buffer.statistics.oversizedFrames
            videoLayers[old] = nil
            streams[old] = nil
            clock.forget(ssrc: old)
            if currentVideo == old { currentVideo = ssrc }
            if nextVideo == old { nextVideo = nil }
        }
        videoLayers[ssrc] = VideoLayer(rid: rid, buffer: VideoReceiveBuffer(codecs: videoCodecs, configuration: configuration))
    }

    /// Nothing comes under this SSRC any more: its place was given to another.
    mutating func forget(ssrc: UInt32) {
        identification?.forget(ssrc: ssrc)
        streams[ssrc] = nil
        videoLayers[ssrc] = nil
        clock.forget(ssrc: ssrc)
        if audioSSRC == ssrc { audioSSRC = nil }
        if currentVideo == ssrc { currentVideo = nil }
        if nextVideo == ssrc { nextVideo = nil }
    }

    private mutating func chooseLayer(at now: Instant) {
        guard let current = currentVideo, let layer = videoLayers[current], let rid = layer.rid else { return }
        let present = videoLayers.compactMap { ssrc, other in
            streams[ssrc].map { now - $0.lastPacket < Self.layerTimeout } == true ? other.rid : nil
        }
        let choice = SimulcastSelection.choose(present: present, current: (rid, layer.height), wanted: wantedHeight)
        guard let choice, choice != rid, let ssrc = videoLayers.first(where: { $0.value.rid == choice })?.key else {
            nextVideo = nil
            return
        }
        guard nextVideo != ssrc else { return }
        nextVideo = ssrc
        videoLayers[ssrc]?.buffer.reset()
    }

    private mutating func takeFrames(_ ssrc: UInt32, at now: Instant) {
        while let assembled = videoLayers[ssrc]?.buffer.nextFrame() {
            if ssrc == nextVideo {
                currentVideo = ssrc
                nextVideo = nil
            }
            guard ssrc == currentVideo else { continue }
            let frame = assembled.frame
            frames += 1
            if frame.isKeyframe { keyframes += 1 }
            if frame.height > 0 {
                width = frame.width
                height = frame.height
                videoLayers[ssrc]?.height = frame.height
            }
            lastCodec = frame.codec
            freezes.frame(at: now)
            let capture = clock.captureTime(ssrc: ssrc, timestamp: frame.timestamp, clockRate: 90_000, arrival: assembled.arrival)
            frameQueue.append(
                ReceivedVideoFrame(
                    frame: frame, captureTime: capture, arrival: assembled.arrival, isRepaired: assembled.isRepaired,
                    hold: hold))
        }
    }

    mutating func receive(_ packet: RTCPPacket, at now: Instant) {
        switch packet {
        case .senderReport(let report):
            guard streams[report.ssrc] != nil else { return }
            streams[report.ssrc]?.reception.received(report, at: now)
            clock.received(report, at: now)
        case .goodbye(let packet):
            for ssrc in packet.ssrcs { identification?.forget(ssrc: ssrc) }
        default: break
        }
    }

    // MARK: Out

    mutating func takeAudio() -> [ReceivedAudioPacket] {
        guard !audio.isEmpty else { return [] }
        defer { audio.removeAll(keepingCapacity: true) }
        return audio
    }

    mutating func takeFrames() -> [ReceivedVideoFrame] {
        guard !frameQueue.isEmpty else { return [] }
        defer { frameQueue.removeAll(keepingCapacity: true) }
        return frameQueue
    }

    private mutating func noteBuffered() {
        bufferedVideo = [currentVideo, nextVideo].compactMap { $0 }
    }

    /// Mutating only to be asked in place: it is, after every packet.
    mutating func takeDeadline() -> Instant? {
        var deadline = nextTransportFeedback
        for ssrc in bufferedVideo {
            guard let other = videoLayers[ssrc]?.buffer.nextDeadline else { continue }
            deadline = min(deadline ?? other, other)
        }
        return deadline
    }

    mutating func advance(to now: Instant, roundTrip: Duration) {
        for ssrc in bufferedVideo {
            videoLayers[ssrc]?.buffer.advance(to: now, roundTrip: roundTrip)
            takeFrames(ssrc, at: now)
        }
    }

    /// Requests and arrival reports that are due.
    mutating func makeFeedback(senderSSRC: UInt32, at now: Instant) -> [RTCPPacket] {
        var packets: [RTCPPacket] = []
        if let due = nextTransportFeedback, now >= due {
            nextTransportFeedback = nil
            for feedback in recorder.makeFeedback(senderSSRC: senderSSRC, mediaSSRC: currentVideo ?? audioSSRC ?? 0, at: now) {
                packets.append(.transportFeedback(feedback))
            }
        }
        for ssrc in bufferedVideo {
            let feedback = videoLayers[ssrc]?.payloadType.flatMap { videoFeedback[$0] } ?? []
            let missing = videoLayers[ssrc]?.buffer.nextNacks(at: now) ?? []
            if !missing.isEmpty, feedback.contains(.nack) {
                packets.append(.nack(GenericNack(senderSSRC: senderSSRC, mediaSSRC: ssrc, missing: missing)))
            }
            if videoLayers[ssrc]?.buffer.takeKeyframeRequest(at: now) == true {
                pictureRequests += 1
                packets.append(keyframeRequest(ssrc, feedback, senderSSRC: senderSSRC))
            }
        }
        return packets
    }

    /// As it was agreed: PLI, else FIR. A peer that agreed to neither gets a PLI all the same: it may ignore it (RFC 4585 §6.1), and
    /// many do not, while without one its picture might never begin.
    private mutating func keyframeRequest(_ ssrc: UInt32, _ feedback: CodecFeedback, senderSSRC: UInt32) -> RTCPPacket {
        guard feedback.contains(.fir), !feedback.contains(.pli) else {
            return .pictureLoss(PictureLossIndication(senderSSRC: senderSSRC, mediaSSRC: ssrc))
        }
        let sequence = videoLayers[ssrc]?.intraRequests ?? 0
        videoLayers[ssrc]?.intraRequests = sequence &+ 1
        return .fullIntraRequest(FullIntraRequest(senderSSRC: senderSSRC, entries: [.init(ssrc: ssrc, sequence: sequence)]))
    }

    mutating func makeReportBlocks(at now: Instant) -> [ReportBlock] {
        var blocks: [ReportBlock] = []
        for ssrc in streams.keys where blocks.count < 31 {
            if let block = streams[ssrc]?.reception.makeReportBlock(at: now) { blocks.append(block) }
        }
        return blocks
    }

    /// The SSRCs that a rate limit applies to.
    var mediaSSRCs: [UInt32] { videoLayers.keys.sorted() }

    // MARK: Statistics

    mutating func fill(_ statistics: inout PeerStatistics, at now: Instant) {
        statistics.malformedPackets += malformed
        if let audioSSRC { fill(&statistics.audioReceived, from: audioSSRC, at: now) }
        statistics.audioReceived.codec = audioSSRC == nil ? nil : "opus"
        statistics.audioReceived.frames = audioFrames
        if let currentVideo {
            fill(&statistics.videoReceived, from: currentVideo, at: now)
            if let layer = videoLayers[currentVideo] {
                statistics.videoReceived.nacks = layer.buffer.statistics.nacksSent
                statistics.videoReceived.recovered = layer.buffer.statistics.recovered
                statistics.videoReceived.rid = layer.rid.flatMap { rid in
                    videoSection.flatMap { rid < $0.remoteRIDs.count ? $0.remoteRIDs[rid] : nil }
                }
            }
        }
        statistics.videoReceived.oversizedFrames = videoLayers.values.reduce(oversizedFrames) { $0 + $1.buffer.statistics.oversizedFrames }
        statistics.videoReceived.codec = lastCodec?.rawValue
        statistics.videoReceived.width = width
        statistics.videoReceived.height = height
        statistics.videoReceived.frames = frames
        statistics.videoReceived.keyframes = keyframes
        statistics.videoReceived.pictureLossIndications = pictureRequests
        statistics.videoReceived.retransmittedPackets = retransmitted
        statistics.videoReceived.freezes = freezes.count
        statistics.videoReceived.frozenFor = freezes.total
    }

    private mutating func fill(_ received: inout PeerStatistics.Received, from ssrc: UInt32, at now: Instant) {
        guard var stream = streams[ssrc] else { return }
        received.bitRate = stream.meter.rate(at: now)
        received.packets = stream.reception.packetsReceived
        received.bytes = stream.reception.bytesReceived
        received.packetsLost = Int(stream.reception.packetsLost)
        received.lossFraction = stream.reception.lossFraction
        received.jitter = stream.reception.jitterDuration
        streams[ssrc] = stream
    }
}
