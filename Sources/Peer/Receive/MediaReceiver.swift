import Basics

/// Receives the RTP of one peer: determines the section of a packet, passes it to the receiver of its section (audio,
/// video, screen), and collects the feedback.
///
/// Not copyable: its owner reads a deadline after every packet, in place.
struct MediaReceiver: ~Copyable {
    /// The most report blocks of one report (RFC 3550 §6.4.1: five bits).
    private static let mostReportBlocks = 31

    private var identification: StreamIdentification?
    private var audio = AudioReceiver()
    private var video: VideoReceiver
    private var screen: VideoReceiver
    private var feedback = TransportFeedbackScheduler()
    /// The clock of audio and video, which keeps both synchronised.
    private var clock: SenderClock
    private var transportCC: UInt8?
    private var audioIndex = -1
    private var videoIndex = -1
    private var screenIndex = -1
    /// Packets that are not RTP.
    private var malformed = 0

    init(_ configuration: VideoReceiveConfiguration, trustsReports: Bool = false) {
        clock = SenderClock(trustsReports: trustsReports)
        video = VideoReceiver(configuration)
        screen = VideoReceiver(configuration)
    }

    // MARK: Settings

    mutating func configure(_ session: NegotiatedSession, at now: Instant) {
        let media = session.sections.enumerated().filter { $0.element.accepted && $0.element.kind != .application }
        let audioSection = media.last { $0.element.kind == .audio }
        let videoSection = media.last { $0.element.kind == .video && !$0.element.isScreen }
        let screenSection = media.last { $0.element.isScreen }
        audioIndex = audioSection?.offset ?? audioIndex
        videoIndex = videoSection?.offset ?? videoIndex
        screenIndex = screenSection?.offset ?? -1
        audio.configure(audioSection?.element)
        video.configure(videoSection?.element)
        screen.configure(screenSection?.element)
        func firstID(_ kind: HeaderExtension) -> UInt8? {
            media.lazy.compactMap { $0.element.headerExtensions[kind] }.first
        }
        transportCC = firstID(.transportCC)
        let ids = StreamIdentification.ExtensionIDs(
            mid: firstID(.mid), rid: firstID(.rid), repairedRID: firstID(.repairedRID))
        let sections = media.filter(\.element.direction.receives).map { Self.identified($0.element, index: $0.offset) }
        if identification == nil {
            identification = StreamIdentification(sections: sections, extensions: ids)
        } else {
            identification?.update(sections: sections, extensions: ids, at: now)
        }
    }

    private static func identified(_ section: NegotiatedSection, index: Int) -> StreamIdentification.Section {
        var repairs: [UInt8: UInt8] = [:]
        for codec in section.codecs { if let rtx = codec.rtxPayloadType { repairs[rtx] = codec.payloadType } }
        return StreamIdentification.Section(
            index: index, mid: section.mid,
            payloadTypes: section.codecs.flatMap { [$0.payloadType, $0.redPayloadType].compactMap { $0 } },
            retransmissionPayloadTypes: repairs, ssrcs: section.remoteSources.map { ($0.ssrc, $0.rtx) },
            rids: Array(section.remoteRIDs.prefix(VideoReceiver.mostLayers)))
    }

    mutating func setWantedHeight(_ height: Int?, of source: VideoSource, at now: Instant) {
        switch source {
        case .camera: video.setWantedHeight(height, at: now)
        case .screen: screen.setWantedHeight(height, at: now)
        }
    }

    mutating func requestKeyframe(of source: VideoSource) {
        switch source {
        case .camera: video.requestKeyframe()
        case .screen: screen.requestKeyframe()
        }
    }

    // MARK: Input

    /// Takes a decrypted RTP packet.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: Instant) {
        let span = bytes.bindMemory(to: UInt8.self).span
        guard let header = try? RTPHeader(parsing: span) else {
            malformed += 1
            return
        }
        // Every packet counts, probes and padding too; otherwise the sender's estimate cannot grow.
        if let transportCC, let number = header.extension16(transportCC, in: span) {
            feedback.received(SequenceNumber(rawValue: number), at: now)
        }
        guard let stream = identification?.identify(header, in: span, at: now), header.ssrc != 0 else { return }
        if stream.section == audioIndex {
            audio.receive(header, span, clock: &clock, at: now)
        } else if stream.section == videoIndex {
            video.receive(header, stream, span, clock: &clock, at: now)
        } else if stream.section == screenIndex {
            screen.receive(header, stream, span, clock: &clock, at: now)
        }
    }

    /// Takes an RTCP packet; only sender reports and BYE matter here.
    mutating func receive(_ packet: RTCPPacket, at now: Instant) {
        switch packet {
        case .senderReport(let report):
            guard audio.receive(report, at: now) || video.receive(report, at: now) || screen.receive(report, at: now)
            else { return }
            clock.received(report, at: now)
        case .goodbye(let packet):
            for ssrc in packet.ssrcs { identification?.forget(ssrc: ssrc) }
        default: break
        }
    }

    /// Forgets an SSRC that lost its place to another one.
    mutating func forget(ssrc: SSRC) {
        identification?.forget(ssrc: ssrc)
        audio.forget(ssrc: ssrc)
        video.forget(ssrc: ssrc)
        screen.forget(ssrc: ssrc)
        clock.forget(ssrc: ssrc)
    }

    mutating func advance(to now: Instant, roundTrip: Duration) {
        video.advance(to: now, roundTrip: roundTrip, clock: &clock)
        screen.advance(to: now, roundTrip: roundTrip, clock: &clock)
    }

    // MARK: Output

    mutating func takeAudio() -> [ReceivedAudioPacket] { audio.takePackets() }
    mutating func takeFrames() -> [ReceivedVideoFrame] { video.takeFrames() }
    mutating func takeScreenFrames() -> [ReceivedVideoFrame] { screen.takeFrames() }

    /// When `advance` or `makeFeedback` has something to do.
    var nextDeadline: Instant? {
        var deadline = feedback.deadline
        if let repair = video.nextDeadline { deadline = min(deadline ?? repair, repair) }
        if let repair = screen.nextDeadline { deadline = min(deadline ?? repair, repair) }
        return deadline
    }

    /// The requests and transport feedback that are due.
    mutating func makeFeedback(senderSSRC: SSRC, at now: Instant) -> [RTCPPacket] {
        let mediaSSRC = video.ssrc ?? screen.ssrc ?? audio.ssrc ?? 0
        var packets = feedback.makeFeedback(senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, at: now).map {
            RTCPPacket.transportFeedback($0)
        }
        packets += video.makeFeedback(senderSSRC: senderSSRC, at: now)
        packets += screen.makeFeedback(senderSSRC: senderSSRC, at: now)
        return packets
    }

    mutating func makeReportBlocks(at now: Instant) -> [ReportBlock] {
        var blocks: [ReportBlock] = []
        if let block = audio.makeReportBlock(at: now) { blocks.append(block) }
        video.appendReportBlocks(to: &blocks, limit: Self.mostReportBlocks, at: now)
        screen.appendReportBlocks(to: &blocks, limit: Self.mostReportBlocks, at: now)
        return blocks
    }

    /// The SSRCs that a rate limit applies to.
    var mediaSSRCs: [SSRC] { video.mediaSSRCs + screen.mediaSSRCs }

    /// Packets that could not be parsed.
    var malformedPackets: Int { malformed + audio.malformed }

    /// The counts of audio and video.
    mutating func statistics(at now: Instant) -> (audio: ReceivedStatistics, video: ReceivedStatistics) {
        (audio.statistics(at: now), video.statistics(at: now))
    }

    /// The counts of the screen.
    mutating func screenStatistics(at now: Instant) -> ReceivedStatistics { screen.statistics(at: now) }
}
