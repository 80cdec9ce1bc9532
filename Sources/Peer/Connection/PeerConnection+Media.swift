public import Basics

extension PeerConnection {
    /// The safe UDP payload (1200) and room for SRTP's trailer.
    static let packetCapacity = 1500 + SRTPContext.maximumOverhead

    // MARK: Sending

    /// Queues a frame for the pacer. The frame is dropped while a keyframe is awaited (`.keyframeRequested` has
    /// requested it).
    public func send(_ frame: PacketizedVideoFrame, at now: Instant) {
        guard state == .connected else { return }
        if milestones.firstFrameSent == nil { milestones.firstFrameSent = now }
        sender.enqueue(frame, at: now)
        pump(at: now)
        noteKeyframeRequest()
    }

    /// Switches to the frames of another encoder: the next frame sent is a keyframe.
    public func restartVideo(at now: Instant) {
        sender.restartVideo(at: now)
        if state == .connected { noteKeyframeRequest() }
    }

    func noteKeyframeRequest() {
        if let requester = sender.takeKeyframeRequest() { events.append(.keyframeRequested(by: requester)) }
    }

    /// Sends an Opus packet at once.
    ///
    /// - Parameters:
    ///   - timestamp: room time in 48 kHz.
    ///   - marker: the first packet after silence.
    ///   - level: −dBov, 0 the loudest.
    public func send(audio payload: [UInt8], timestamp: Int64, marker: Bool, level: UInt8?, at now: Instant) {
        guard state == .connected, ice?.selected != nil else { return }
        let buffer = arena.reserve(max(Self.packetCapacity, payload.count + 128 + SRTPContext.maximumOverhead))
        guard
            let length = sender.writeAudio(
                payload, timestamp: timestamp, marker: marker, level: level, into: buffer, at: now)
        else { return }
        commit(buffer, length)
        let again = arena.reserve(Self.packetCapacity)
        if let length = sender.writeAudioAgain(into: again, at: now) { commit(again, length) }
        reportNewStreams(at: now)
    }

    /// How Opus packets are sent more than once. Copies have no effect if the peer accepts no redundant audio, see
    /// `takesAudioCopies`.
    public var audioRepetition: AudioRepetition {
        get { sender.audio.repetition }
        set { sender.setAudioRepetition(newValue) }
    }

    /// Whether the peer accepts packets that carry earlier ones (RFC 2198).
    public var takesAudioCopies: Bool { sender.audio.takesCopies }

    /// Sends everything that the pacer allows.
    func pump(at now: Instant) {
        guard ice?.selected != nil else { return }
        sender.advance(to: now)
        while true {
            let buffer = arena.reserve(Self.packetCapacity)
            guard let length = sender.nextPacket(into: buffer, at: now) else { break }
            commit(buffer, length)
        }
        reportNewStreams(at: now)
    }

    private func commit(_ buffer: UnsafeMutableRawBufferPointer, _ length: Int) {
        guard let srtp, let protected = try? srtp.protectRTP(buffer, length: length), let flow = flow(for: protected)
        else { return }
        arena.commit(protected, flow: flow)
    }

    // MARK: Receiving

    /// Asks the peer for a keyframe of its video or its screen.
    public func requestKeyframe(of source: VideoSource = .camera, at now: Instant) {
        receiver.requestKeyframe(of: source)
        drain(at: now)
    }

    /// Sets the most that the peer may send us, its pictures together; nil is the configured limit.
    public func setReceiveLimit(_ rate: BitRate?, at now: Instant) {
        if receiveLimit.set(rate ?? configuration.receiveLimit, at: now) { drain(at: now) }
    }

    /// Sets the height in pixels at which the peer's picture is shown: the receiver takes the smallest simulcast layer
    /// that fills it.
    public func setWantedLayer(height: Int?, of source: VideoSource = .camera, at now: Instant) {
        receiver.setWantedHeight(height, of: source, at: now)
        drain(at: now)
    }

    // MARK: RTCP

    /// Compound packets begin with a report (RFC 3550 §6.1) unless reduced size was agreed (RFC 5506).
    private var needsCompound: Bool {
        guard let sections = negotiated?.sections.filter({ $0.accepted && $0.kind != .application }) else {
            return true
        }
        return !sections.allSatisfy(\.remoteReducedSizeRTCP)
    }

    func sendFeedback(at now: Instant) {
        let notification = sender.takeLimitNotification()
        guard
            notification != nil
                || min(receiver.nextDeadline ?? .distantFuture, receiveLimit.deadline ?? .distantFuture) <= now
        else { return }
        var packets = receiver.makeFeedback(senderSSRC: reportSSRC, at: now)
        if receiveLimit.take(at: now) {
            let ssrcs = receiver.mediaSSRCs
            let agreed = negotiated?.sections.contains { $0.kind == .video && $0.agreed(to: .remb) } ?? false
            if agreed, !ssrcs.isEmpty {
                packets.append(
                    .maxBitrate(
                        ReceiverEstimatedMaxBitrate(senderSSRC: reportSSRC, bitRate: receiveLimit.rate, ssrcs: ssrcs)))
            }
        }
        if let notification { packets.append(.temporaryLimitNotification(notification)) }
        for packet in packets {
            sendReport(needsCompound ? [.receiverReport(ReceiverReport(ssrc: reportSSRC)), packet] : [packet])
        }
    }

    /// Sends a report at once if the first packet of a stream may have left.
    private func reportNewStreams(at now: Instant) {
        if reports.note(streams: sender.activeStreams, at: now) { sendReports(at: now) }
    }

    func sendReports(at now: Instant) {
        guard reports.take(at: now, bandwidth: estimate) else { return }
        let blocks = receiver.makeReportBlocks(at: now)
        let senders = sender.senderReports(blocks: blocks, at: now)
        var packets: [RTCPPacket] = senders.map { .senderReport($0) }
        if senders.isEmpty {
            guard !blocks.isEmpty else { return }
            packets.append(.receiverReport(ReceiverReport(ssrc: reportSSRC, reports: blocks)))
        }
        let ssrcs = senders.isEmpty ? [reportSSRC] : senders.map(\.ssrc)
        let cname = localName
        packets.append(
            .sourceDescription(
                SourceDescription(
                    chunks: ssrcs.map { .init(ssrc: $0, items: [.init(type: SourceDescription.cname, text: cname)]) })))
        sendReport(packets)
    }

    func sendReport(_ packets: [RTCPPacket]) {
        guard let srtp, ice?.selected != nil else { return }
        var bytes: [UInt8] = []
        for packet in packets { packet.encode(into: &bytes) }
        let buffer = arena.reserve(bytes.count + SRTPContext.maximumOverhead)
        buffer.copyBytes(from: bytes)
        guard let length = try? srtp.protectRTCP(buffer, length: bytes.count), let flow = flow(for: length) else {
            return
        }
        arena.commit(length, flow: flow)
    }

    // MARK: Estimate

    /// Announces the estimate to the owner, not before something was measured.
    func announceEstimate(at now: Instant) {
        let rate = estimate
        guard !sender.isQuiet(at: now) || sender.estimator.isMeasured, announcement.take(rate, at: now) else { return }
        events.append(.estimate(rate, lossFraction: lossFraction, roundTrip: roundTrip))
    }

    /// The part of the packets that the link loses at whatever rate, as far as the last seconds tell; 0 to 1.
    public var ownLoss: Double { sender.estimator.usesFeedback ? sender.estimator.ownLoss : lossFraction }

    /// The loss by transport-wide feedback, or by receiver reports without it.
    private var lossFraction: Double {
        if sender.estimator.usesFeedback { return sender.estimator.smoothedLoss }
        let report = sender.video.stream.report ?? sender.audio.stream.report
        return Double(report?.fractionLost ?? 0) / 256
    }

    // MARK: Statistics

    /// Everything that was counted in both directions.
    public func statistics(at now: Instant) -> PeerStatistics {
        var result = PeerStatistics()
        (result.audioReceived, result.videoReceived) = receiver.statistics(at: now)
        result.screenReceived = receiver.screenStatistics(at: now)
        result.malformedPackets = receiver.malformedPackets
        result.audioSent = sender.audio.stream.statistics(at: now)
        result.videoSent = sender.video.stream.statistics(at: now)
        result.audioSent.codec = sendsAudio ? "opus" : nil
        result.videoSent.codec = sender.video.codec?.rawValue
        result.videoSent.width = sender.video.width
        result.videoSent.height = sender.video.height
        result.videoSent.repair = sender.video.repair.counters
        result.milestones = milestones
        result.estimate = estimate
        result.lossFraction = lossFraction
        result.roundTrip = state == .connected ? roundTrip : nil
        result.pacerQueue = sender.video.queueDelay(at: now)
        result.pacerBytes = sender.video.queuedBytes
        result.receiveLimit = receiveLimit.rate
        result.flow = ice?.selected
        result.srtpProfile = srtp?.profile
        result.srtp = srtp?.statistics ?? SRTPStatistics()
        result.dtls = dtls?.statistics ?? DTLSStatistics()
        result.channels = channels.statistics
        result.droppedDatagrams = droppedDatagrams
        result.overBudgetDatagrams = allowance.dropped
        result.skippedReports = allowance.skippedReports
        result.refusedSources = sources.refused
        result.sources = sources.count
        result.forgottenSources = sources.forgottenCount
        result.ignoredChecks = ice?.ignoredMessages ?? 0
        result.unansweredDatagrams = unansweredDatagrams
        return result
    }
}
