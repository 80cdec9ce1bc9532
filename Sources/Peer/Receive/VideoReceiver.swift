import Basics

/// Receives the video of one peer: its simulcast layers with their repair, the choice of the displayed layer, and the
/// requests for missing packets.
///
/// Not copyable: its owner reads a deadline after every packet, and its state is large.
struct VideoReceiver: ~Copyable {
    /// The most simulcast layers; browsers send three, and each may hold a second of packets.
    static let mostLayers = 4
    /// A simulcast layer that is silent for this long counts as absent.
    private static let layerTimeout: Duration = .seconds(2)
    private static let clockRate: Int64 = 90_000

    private let configuration: VideoReceiveConfiguration
    private var codecs: [UInt8: VideoCodec] = [:]
    private var agreedFeedback: [UInt8: CodecFeedback] = [:]
    private var rids: [String] = []
    private var playoutDelayID: UInt8?
    /// The streams of media and of retransmissions, by SSRC.
    private var streams: [SSRC: InboundStream] = [:]
    private var layers: [SSRC: VideoLayer] = [:]
    /// The layer whose frames are delivered.
    private var current: SSRC? { didSet { noteBuffered() } }
    /// A layer that replaces the current one with its first whole frame.
    private var next: SSRC? { didSet { noteBuffered() } }
    /// `current` and `next`: the layers whose packets are kept.
    private var buffered: [SSRC] = []
    private var wantedHeight: Int?
    /// The last minimum playout delay that the sender of the video requested.
    private var hold: Duration?
    private var frames: [ReceivedVideoFrame] = []
    private var counters = Counters()

    private struct Counters {
        var codec: VideoCodec?
        var width = 0
        var height = 0
        var frames = 0
        var keyframes = 0
        var retransmittedPackets = 0
        var keyframeRequests = 0
        /// Oversized frames of layers that are gone.
        var oversizedFrames = 0
        var freezes = FreezeCounter()
    }

    init(_ configuration: VideoReceiveConfiguration) {
        self.configuration = configuration
    }

    /// The SSRC whose frames are delivered; nil before the first packet.
    var ssrc: SSRC? { current }
    /// The SSRCs of all layers.
    var mediaSSRCs: [SSRC] { layers.keys.sorted() }

    // MARK: Settings

    mutating func configure(_ section: NegotiatedSection?) {
        codecs = [:]
        agreedFeedback = [:]
        for codec in section?.codecs ?? [] {
            // What comes in a codec that is only sent is not kept.
            codecs[codec.payloadType] = codec.name.video.flatMap { VideoCodec.received.contains($0) ? $0 : nil }
            agreedFeedback[codec.payloadType] = codec.feedback
        }
        rids = section?.remoteRIDs ?? []
        playoutDelayID = section?.headerExtensions.playoutDelay
        for layer in layers.values { layer.buffer.setCodecs(codecs) }
    }

    mutating func setWantedHeight(_ height: Int?, at now: Instant) {
        wantedHeight = height
        chooseLayer(at: now)
    }

    mutating func requestKeyframe() {
        if let current { layers[current]?.buffer.requestKeyframe() }
    }

    // MARK: Packets

    /// Takes a packet of the video section: media, or a retransmission of it.
    mutating func receive(
        _ header: RTPHeader, _ identity: StreamIdentification.Stream, _ span: Span<UInt8>, clock: inout SenderClock,
        at now: Instant
    ) {
        if identity.isRetransmission {
            receiveRepair(header, identity, span, clock: &clock, at: now)
        } else {
            receiveMedia(header, rid: identity.rid, span, clock: &clock, at: now)
        }
    }

    private mutating func receiveMedia(
        _ header: RTPHeader, rid: Int?, _ span: Span<UInt8>, clock: inout SenderClock, at now: Instant
    ) {
        let ssrc = header.ssrc
        if layers[ssrc] == nil { replaceLayer(ssrc, rid: rid, clock: &clock) }
        var stream = streams.removeValue(forKey: ssrc) ?? InboundStream(ssrc: ssrc, clockRate: Self.clockRate, at: now)
        let numbers = stream.accept(header, bytes: span.count, at: now)
        streams[ssrc] = stream
        if current == nil {
            current = ssrc
        } else if rid != nil, ssrc != current {
            chooseLayer(at: now)
        }
        guard let numbers, ssrc == current || ssrc == next, let layer = layers[ssrc] else { return }
        if stream.wasReset { layer.buffer.reset() }
        if let playoutDelayID, let value = header.extension24(playoutDelayID, in: span) {
            hold = PlayoutDelay(value: value).minimum
        }
        layer.payloadType = header.payloadType
        layer.buffer.insert(
            payload: span.extracting(header.payloadRange), payloadType: header.payloadType, sequence: numbers.sequence,
            timestamp: numbers.timestamp, marker: header.marker, at: now)
        collectFrames(of: layer, ssrc, clock: &clock, at: now)
    }

    private mutating func receiveRepair(
        _ header: RTPHeader, _ identity: StreamIdentification.Stream, _ span: Span<UInt8>, clock: inout SenderClock,
        at now: Instant
    ) {
        guard streams[header.ssrc] != nil || streams.count < StreamIdentification.maximumStreams else { return }
        var own =
            streams.removeValue(forKey: header.ssrc)
            ?? InboundStream(ssrc: header.ssrc, clockRate: Self.clockRate, at: now)
        _ = own.accept(header, bytes: span.count, at: now)
        streams[header.ssrc] = own
        guard let original = RetransmittedPayload(header: header, in: span) else { return }
        counters.retransmittedPackets += 1
        guard let media = identity.mediaSSRC, media == current || media == next, let layer = layers[media],
            let numbers = streams[media]?.numbers(original: original.originalSequence, timestamp: header.timestamp)
        else { return }
        layer.buffer.insert(
            payload: span.extracting(original.payloadRange), payloadType: identity.mediaPayloadType,
            sequence: numbers.sequence,
            timestamp: numbers.timestamp, marker: header.marker, isRetransmission: true, at: now)
        collectFrames(of: layer, media, clock: &clock, at: now)
    }

    private mutating func collectFrames(of layer: VideoLayer, _ ssrc: SSRC, clock: inout SenderClock, at now: Instant) {
        while let assembled = layer.buffer.nextFrame() {
            if ssrc == next {
                current = ssrc
                next = nil
            }
            guard ssrc == current else { continue }
            let frame = assembled.frame
            counters.frames += 1
            if frame.isKeyframe { counters.keyframes += 1 }
            if frame.height > 0 {
                counters.width = frame.width
                counters.height = frame.height
                layer.height = frame.height
            }
            counters.codec = frame.codec
            counters.freezes.frame(at: now)
            let capture = clock.captureTime(
                ssrc: ssrc, timestamp: frame.timestamp, clockRate: Self.clockRate, arrival: assembled.arrival)
            frames.append(
                ReceivedVideoFrame(
                    frame: frame, captureTime: capture, arrival: assembled.arrival, isRepaired: assembled.isRepaired,
                    hold: hold))
        }
    }

    /// The frames that were completed since the last call, in decoding order.
    mutating func takeFrames() -> [ReceivedVideoFrame] {
        guard !frames.isEmpty else { return [] }
        defer { frames.removeAll(keepingCapacity: true) }
        return frames
    }

    // MARK: Layers

    /// Adds the layer of a new SSRC, which is a new stream and ends the one before it.
    private mutating func replaceLayer(_ ssrc: SSRC, rid: Int?, clock: inout SenderClock) {
        for (old, layer) in layers where layer.rid == rid {
            counters.oversizedFrames += layer.buffer.statistics.oversizedFrames
            layers[old] = nil
            streams[old] = nil
            clock.forget(ssrc: old)
            if current == old { current = ssrc }
            if next == old { next = nil }
        }
        layers[ssrc] = VideoLayer(rid: rid, buffer: VideoReceiveBuffer(codecs: codecs, configuration: configuration))
    }

    private mutating func chooseLayer(at now: Instant) {
        guard let current, let layer = layers[current], let rid = layer.rid else { return }
        let present = layers.compactMap { ssrc, other in
            streams[ssrc].map { now - $0.lastPacket < Self.layerTimeout } == true ? other.rid : nil
        }
        let choice = SimulcastSelection.choose(present: present, current: (rid, layer.height), wanted: wantedHeight)
        guard let choice, choice != rid, let ssrc = layers.first(where: { $0.value.rid == choice })?.key else {
            next = nil
            return
        }
        guard next != ssrc else { return }
        next = ssrc
        layers[ssrc]?.buffer.reset()
    }

    private mutating func noteBuffered() {
        buffered = [current, next].compactMap { $0 }
    }

    /// Forgets an SSRC that lost its place to another one.
    mutating func forget(ssrc: SSRC) {
        streams[ssrc] = nil
        layers[ssrc] = nil
        if current == ssrc { current = nil }
        if next == ssrc { next = nil }
    }

    // MARK: Time and requests

    /// When `advance` or `makeFeedback` has something to do.
    var nextDeadline: Instant? {
        var deadline: Instant?
        for ssrc in buffered {
            guard let other = layers[ssrc]?.buffer.nextDeadline else { continue }
            deadline = min(deadline ?? other, other)
        }
        return deadline
    }

    /// Abandons gaps that repair can no longer fill in time.
    mutating func advance(to now: Instant, roundTrip: Duration, clock: inout SenderClock) {
        for ssrc in buffered {
            guard let layer = layers[ssrc] else { continue }
            layer.buffer.advance(to: now, roundTrip: roundTrip)
            collectFrames(of: layer, ssrc, clock: &clock, at: now)
        }
    }

    /// The NACKs and keyframe requests that are due.
    mutating func makeFeedback(senderSSRC: SSRC, at now: Instant) -> [RTCPPacket] {
        var packets: [RTCPPacket] = []
        for ssrc in buffered {
            guard let layer = layers[ssrc] else { continue }
            let feedback = layer.payloadType.flatMap { agreedFeedback[$0] } ?? []
            let missing = layer.buffer.nextNacks(at: now)
            if !missing.isEmpty, feedback.contains(.nack) {
                packets.append(.nack(GenericNack(senderSSRC: senderSSRC, mediaSSRC: ssrc, missing: missing)))
            }
            if layer.buffer.takeKeyframeRequest(at: now) {
                counters.keyframeRequests += 1
                packets.append(layer.makeKeyframeRequest(feedback, senderSSRC: senderSSRC, mediaSSRC: ssrc))
            }
        }
        return packets
    }

    // MARK: Reports

    /// Takes a sender report; false if it is about an unknown SSRC.
    mutating func receive(_ report: SenderReport, at now: Instant) -> Bool {
        guard streams[report.ssrc] != nil else { return false }
        streams[report.ssrc]?.reception.received(report, at: now)
        return true
    }

    /// Appends the blocks of the next report until there are `limit` of them.
    mutating func appendReportBlocks(to blocks: inout [ReportBlock], limit: Int, at now: Instant) {
        for ssrc in streams.keys where blocks.count < limit {
            if let block = streams[ssrc]?.reception.makeReportBlock(at: now) { blocks.append(block) }
        }
    }

    /// The counts so far, of the layer in use and of all frames.
    mutating func statistics(at now: Instant) -> ReceivedStatistics {
        var statistics = ReceivedStatistics()
        if let current {
            streams[current]?.fill(&statistics, at: now)
            if let layer = layers[current] {
                statistics.nacks = layer.buffer.statistics.nacksSent
                statistics.recovered = layer.buffer.statistics.recovered
                statistics.rid = layer.rid.flatMap { $0 < rids.count ? rids[$0] : nil }
            }
        }
        statistics.codec = counters.codec?.rawValue
        statistics.width = counters.width
        statistics.height = counters.height
        statistics.frames = counters.frames
        statistics.keyframes = counters.keyframes
        statistics.pictureLossIndications = counters.keyframeRequests
        statistics.retransmittedPackets = counters.retransmittedPackets
        statistics.oversizedFrames = layers.values.reduce(counters.oversizedFrames) {
            $0 + $1.buffer.statistics.oversizedFrames
        }
        statistics.freezes = counters.freezes.count
        statistics.frozenFor = counters.freezes.total
        return statistics
    }
}
