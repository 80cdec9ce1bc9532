import Basics

/// The first numbers of all counters on the wire. Normally random; tests choose them just before a wrap.
package struct InitialNumbers: Sendable {
    package var audioSequence: SequenceNumber
    package var videoSequence: SequenceNumber
    package var rtxSequence: SequenceNumber
    package var audioTimestamp: RTPTimestamp
    package var videoTimestamp: RTPTimestamp
    package var transportSequence: SequenceNumber
    package var pictureID: UInt16
    package var tl0PictureIndex: UInt8

    package init(
        audioSequence: SequenceNumber, videoSequence: SequenceNumber, rtxSequence: SequenceNumber,
        audioTimestamp: RTPTimestamp,
        videoTimestamp: RTPTimestamp, transportSequence: SequenceNumber, pictureID: UInt16, tl0PictureIndex: UInt8
    ) {
        self.audioSequence = audioSequence
        self.videoSequence = videoSequence
        self.rtxSequence = rtxSequence
        self.audioTimestamp = audioTimestamp
        self.videoTimestamp = videoTimestamp
        self.transportSequence = transportSequence
        self.pictureID = pictureID
        self.tl0PictureIndex = tl0PictureIndex
    }

    /// Sequence numbers start below 2^15, so that a receiver sees packets before the first wrap (SRTP's rollover
    /// counter, libsrtp#725).
    package static func random(using generator: inout some RandomNumberGenerator) -> InitialNumbers {
        InitialNumbers(
            audioSequence: .random(in: 1..<0x8000, using: &generator),
            videoSequence: .random(in: 1..<0x8000, using: &generator),
            rtxSequence: .random(in: 1..<0x8000, using: &generator), audioTimestamp: .random(using: &generator),
            videoTimestamp: .random(using: &generator), transportSequence: 1,
            pictureID: .random(in: 0..<0x8000, using: &generator),
            tl0PictureIndex: .random(in: 0...255, using: &generator))
    }
}

/// Sends all RTP to one peer: two streams and their repair, one pacer, one estimate.
///
/// Not copyable: its owner reads a deadline after every packet, in place.
struct MediaSender: ~Copyable, Sendable {
    /// IPv4, UDP and an SRTP tag, which the link carries with each packet.
    static let wireOverhead = 20 + 8 + 16

    /// Above this loss the last packets of stills go out twice: at a rate below this one a frame has so little company that
    /// nothing tells the receiver of their loss. The others are asked for.
    static let lossOfFrames = 0.08
    static let rateOfStills = BitRate.kilobits(25)
    /// What a still takes at least beside the audio where much is lost, with the audio's headers below RTP, which are 6 of
    /// it.
    static let trickle = BitRate.kilobits(18)
    /// The packets of a probe that has no more bytes for each are padding: those of the media are several times larger.
    static let smallest = 100

    private(set) var audio: AudioSender
    private(set) var video: VideoSender
    private(set) var estimator: BandwidthEstimator
    private var pacer: Pacer
    private var probe: (cluster: ProbeCluster, started: Instant, packets: Int, bytes: Int)?
    private var isStarted = false
    private let clock: WallClock
    private let bandwidth: BandwidthEstimatorConfiguration
    private let numbers: InitialNumbers
    private var estimatorIsSettled = false
    private var limits = TemporaryLimits()
    private var owesNotification = false

    init(
        audioSSRC: SSRC, videoSSRC: SSRC, rtxSSRC: SSRC, numbers: InitialNumbers,
        bandwidth: BandwidthEstimatorConfiguration,
        clock: WallClock
    ) {
        audio = AudioSender(
            stream: OutgoingStream(
                ssrc: audioSSRC, clockRate: 48_000, firstSequence: numbers.audioSequence,
                timestampBase: numbers.audioTimestamp))
        video = VideoSender(
            stream: OutgoingStream(
                ssrc: videoSSRC, clockRate: 90_000, firstSequence: numbers.videoSequence,
                timestampBase: numbers.videoTimestamp),
            repair: OutgoingStream(
                ssrc: rtxSSRC, clockRate: 90_000, firstSequence: numbers.rtxSequence,
                timestampBase: numbers.videoTimestamp),
            numbers: PictureNumbers(pictureID: numbers.pictureID & 0x7FFF, tl0: numbers.tl0PictureIndex))
        estimator = BandwidthEstimator(bandwidth, usesFeedback: false)
        pacer = Pacer(rate: bandwidth.start * Pacer.factor)
        self.clock = clock
        self.bandwidth = bandwidth
        self.numbers = numbers
    }

    // MARK: Settings

    mutating func configure(
        audio format: OutgoingAudio?, audioExtensions: OutgoingExtensions, video codecs: [VideoCodec: OutgoingCodec],
        videoExtensions: OutgoingExtensions, usesFeedback: Bool, limit: BitRate? = nil
    ) {
        audio.configure(format, extensions: audioExtensions)
        video.configure(codecs: codecs, extensions: videoExtensions)
        if !estimatorIsSettled || usesFeedback != estimator.usesFeedback {
            estimatorIsSettled = true
            estimator = BandwidthEstimator(
                bandwidth, usesFeedback: usesFeedback, firstSequence: numbers.transportSequence)
        }
        estimator.describedLimit = limit
    }

    /// Starts sending: the connection is up. `handshake`: how long the DTLS handshake took; `shown`: the
    /// rate that it has shown, in bit/s.
    mutating func start(at now: Instant, handshake: Duration? = nil, shown: Double? = nil) {
        isStarted = true
        estimator.start(at: now, handshake: handshake, shown: shown)
        if video.isConfigured { video.restart(at: now) }
    }

    mutating func setAudioRepetition(_ repetition: AudioRepetition) { audio.repetition = repetition }
    mutating func restartVideo(at now: Instant) { video.restart(at: now) }
    mutating func takeKeyframeRequest() -> KeyframeRequester? { video.takeKeyframeRequest() }

    // MARK: Input

    mutating func enqueue(_ frame: PacketizedVideoFrame, at now: Instant) {
        guard isStarted else { return }
        let spoken = audio.stream.meter.rate(at: now)
        let available = max(estimator.estimate - spoken, .kilobits(20))
        video.isStills = video.stream.meter.rate(at: now) < Self.rateOfStills
        video.repeatsTail = video.isStills && estimator.smoothedLoss > Self.lossOfFrames
        video.enqueue(frame, available: available, at: now)
    }

    mutating func writeAudio(
        _ payload: [UInt8], timestamp: Int64, marker: Bool, level: UInt8?, into buffer: UnsafeMutableRawBufferPointer,
        at now: Instant
    ) -> Int? {
        guard isStarted else { return nil }
        let packet = audio.write(
            payload, timestamp: timestamp, marker: marker, level: level, as: estimator.nextSequence, into: buffer,
            at: now)
        return packet.map { note($0, cluster: nil, at: now) }
    }

    /// Writes the audio packet that goes out again now, if there is one; returns its length.
    mutating func writeAudioAgain(into buffer: UnsafeMutableRawBufferPointer, at now: Instant) -> Int? {
        audio.writeAgain(into: buffer, at: now).map { note($0, cluster: nil, at: now) }
    }

    // MARK: Output

    mutating func advance(to now: Instant) {
        estimator.advance(to: now)
        if !limits.bounding.isEmpty { limitEstimate(at: now) }
        // A limit that the receiver requests is for the encoder: repairs are sent beside it, as long as the link
        // carries them.
        pacer.rate = Pacer.rate(at: estimator.linkEstimate)
        // Where much is lost without a queue the estimate is too low now and then: a still goes on beside the audio.
        if estimator.smoothedLoss > Self.lossOfFrames, !estimator.hasQueue {
            pacer.rate = max(pacer.rate, audio.stream.meter.rate(at: now) + Self.trickle)
        }
        pacer.isAmple = estimator.isAmple
        pacer.advance(to: now)
        if let current = probe, now - current.started > .milliseconds(200) { probe = nil }
        if isStarted, probe == nil, estimator.hasProbe, video.usesTransportCC, let cluster = estimator.nextProbe() {
            probe = (cluster, now, 0, 0)
        }
    }

    /// Writes the next packet that may leave now to the start of the buffer; returns its length.
    mutating func nextPacket(into buffer: UnsafeMutableRawBufferPointer, at now: Instant) -> Int? {
        guard isStarted else { return nil }
        if let current = probe {
            guard now >= probeDeadline(current) else { return nil }
            // A thin link's probe is of small packets: so many of the media's would not fit into its queue.
            let isSmall = current.cluster.bytes < current.cluster.packets * Self.smallest
            let queued = isSmall || isQuiet(at: now) ? nil : nextQueued(into: buffer, at: now)
            let packet =
                queued
                ?? video.nextProbe(
                    into: buffer, as: estimator.nextSequence, size: current.cluster.bytes / current.cluster.packets,
                    at: now)
            guard let packet else {
                probe = nil
                estimator.cannotProbe()
                return nil
            }
            let length = note(packet, cluster: current.cluster.id, at: now)
            let packets = current.packets + 1
            let bytes = current.bytes + length + Self.wireOverhead
            let isDone = packets >= current.cluster.packets && bytes >= current.cluster.bytes
            probe = isDone ? nil : (current.cluster, current.started, packets, bytes)
            return length
        }
        guard pacer.maySend, !isQuiet(at: now), let packet = nextQueued(into: buffer, at: now) else { return nil }
        return note(packet, cluster: nil, at: now)
    }

    /// When a packet may leave, or `advance` has something to do.
    func nextDeadline(after now: Instant) -> Instant? {
        guard isStarted else { return nil }
        var deadline = estimator.nextDeadline
        func consider(_ other: Instant) { deadline = min(deadline ?? other, other) }
        if let probe {
            consider(max(probeDeadline(probe), now))
        } else if video.hasWork {
            consider(isQuiet(at: now) ? estimator.quietUntil ?? now : pacer.nextSend(after: now))
        } else if estimator.hasProbe, video.usesTransportCC {
            consider(now)
        }
        return deadline
    }

    /// Whether the link is reserved for the first probe.
    func isQuiet(at now: Instant) -> Bool { video.usesTransportCC && estimator.quietUntil.map { now < $0 } ?? false }

    private mutating func nextQueued(into buffer: UnsafeMutableRawBufferPointer, at now: Instant) -> SentPacket? {
        video.nextRepair(into: buffer, roundTrip: estimator.roundTrip, transport: estimator.history, at: now)
            ?? video.nextMedia(
                into: buffer, transport: estimator.history, loss: estimator.smoothedLoss,
                roundTrip: estimator.roundTrip, at: now)
    }

    /// Counts a packet that leaves, in the estimate and in the pacer; returns its length.
    private mutating func note(_ packet: SentPacket, cluster: Int?, at now: Instant) -> Int {
        let size = packet.length + Self.wireOverhead
        switch packet.numbering {
        case .numbered: estimator.packetSent(size: size, cluster: cluster, at: now)
        case .unnumbered: estimator.packetSent(unnumbered: size, at: now)
        case .repeated(let number): if let number { estimator.disregard(number) }
        }
        pacer.sent(size)
        return packet.length
    }

    /// A probe's packets leave one by one at its rate: packets sent at one instant would measure no rate.
    private func probeDeadline(_ probe: (cluster: ProbeCluster, started: Instant, packets: Int, bytes: Int)) -> Instant
    {
        probe.started + probe.cluster.rate.time(for: probe.bytes)
    }

    // MARK: Reports

    /// Takes the peer's feedback about our streams; other packets are ignored.
    mutating func receive(_ packet: RTCPPacket, at now: Instant) {
        switch packet {
        case .senderReport(let report): receive(report.reports, at: now)
        case .receiverReport(let report): receive(report.reports, at: now)
        case .nack(let nack) where nack.mediaSSRC == video.stream.ssrc: video.receive(nack.missing, at: now)
        case .pictureLoss(let request) where request.mediaSSRC == video.stream.ssrc: video.receivePictureLoss(at: now)
        case .fullIntraRequest(let request):
            for entry in request.entries where entry.ssrc == video.stream.ssrc {
                video.receiveFullIntraRequest(entry.sequence, from: request.senderSSRC, at: now)
            }
        case .maxBitrate(let remb):
            // REMB covers only the SSRCs that it names: aiortc estimates video alone.
            let isOfVideo = !remb.ssrcs.isEmpty && !remb.ssrcs.contains(audio.stream.ssrc)
            estimator.receive(
                receiverLimit: remb.bitRate, about: isOfVideo ? video.stream.meter.rate(at: now) : nil, at: now)
        case .temporaryLimit(let request): receive(request, at: now)
        case .goodbye(let goodbye):
            guard limits.remove(goodbye.ssrcs) else { return }
            owesNotification = true
            limitEstimate(at: now)
        case .transportFeedback(let feedback): estimator.receive(ArrivalReport(feedback), at: now)
        default: break
        }
    }

    private mutating func receive(_ blocks: [ReportBlock], at now: Instant) {
        for block in blocks {
            let previous: ReportBlock?
            if block.ssrc == video.stream.ssrc {
                previous = video.stream.report
                video.stream.received(block, at: now)
            } else if block.ssrc == audio.stream.ssrc {
                previous = audio.stream.report
                audio.stream.received(block, at: now)
            } else {
                continue
            }
            if let sample = block.roundTrip(compactNow: clock.compactNTP(at: now)), sample < .seconds(10) {
                estimator.receive(roundTrip: sample, of: block.lastSenderReport, at: now)
            }
            if let previous {
                let expected = Int(Int32(bitPattern: block.highestSequence &- previous.highestSequence))
                let lost = Int(block.cumulativeLost) - Int(previous.cumulativeLost)
                estimator.receive(lossOf: lost, expected: expected, at: now)
            }
        }
    }

    /// RFC 5104 §4.2.1.2: each request about our video is answered, whether it changes anything or not.
    private mutating func receive(_ request: TemporaryMaxBitrate, at now: Instant) {
        // An owner has one limit per stream: of several in one request the last one counts.
        if let limit = request.limits.last(where: { $0.ssrc == video.stream.ssrc }) {
            limits.request(.init(ssrc: request.senderSSRC, bitRate: limit.bitRate, overhead: limit.overhead))
            owesNotification = true
        }
        if owesNotification { limitEstimate(at: now) }
    }

    /// Turns the limit, which covers the video, into a limit of the estimate, which covers everything.
    private mutating func limitEstimate(at now: Instant) {
        let counters = video.stream.counters
        let packets = Double(max(counters.packets, 1))
        let size = max(Double(counters.bytes) / packets, 1)
        let rate = limits.rate(
            packets: Double(video.stream.meter.rate(at: now).bitsPerSecond) / 8 / size,
            header: Double(counters.bytes - counters.payloadBytes) / packets)
        estimator.temporaryLimit = rate.map { $0 + audio.stream.meter.rate(at: now) }
    }

    /// The limits that bind the video, if the peer is to be notified.
    mutating func takeLimitNotification() -> TemporaryMaxBitrate? {
        guard owesNotification else { return nil }
        owesNotification = false
        return TemporaryMaxBitrate(senderSSRC: video.stream.ssrc, limits: limits.bounding)
    }

    /// Sender reports of the streams that are in use.
    func senderReports(blocks: [ReportBlock], at now: Instant) -> [SenderReport] {
        var reports: [SenderReport] = []
        if audio.stream.isActive { reports.append(audio.stream.senderReport(at: now, clock: clock, blocks: [])) }
        if video.stream.isActive { reports.append(video.stream.senderReport(at: now, clock: clock, blocks: [])) }
        if !reports.isEmpty { reports[0].reports = blocks }
        return reports
    }

    /// How many streams have begun, of audio and video.
    var activeStreams: Int { (audio.stream.isActive ? 1 : 0) + (video.stream.isActive ? 1 : 0) }

    /// The SSRCs for a BYE.
    var activeSSRCs: [SSRC] {
        var result: [SSRC] = []
        if audio.stream.isActive { result.append(audio.stream.ssrc) }
        if video.stream.isActive { result.append(video.stream.ssrc) }
        if video.repair.isActive { result.append(video.repair.ssrc) }
        return result
    }
}
