import Basics

/// Receives the audio of one peer: counts the packets of its SSRC, unpacks redundant ones (RFC 2198) and gives each its
/// capture time.
struct AudioReceiver: Sendable {
    private static let clockRate: Int64 = 48_000

    /// Payload types of redundant audio and of the Opus packets in it.
    private struct Redundancy {
        var payloadType: UInt8
        var opus: UInt8
    }

    private var stream: InboundStream?
    private var levelID: UInt8?
    private var redundancy: Redundancy?
    private var packets: [ReceivedAudioPacket] = []
    private var frames = 0
    /// Redundant packets that could not be parsed.
    private(set) var malformed = 0

    /// The SSRC of the audio; nil before the first packet.
    var ssrc: SSRC? { stream?.ssrc }

    mutating func configure(_ section: NegotiatedSection?) {
        levelID = section?.headerExtensions.audioLevel
        redundancy = section?.codecs.first.flatMap { opus in
            opus.redPayloadType.map { Redundancy(payloadType: $0, opus: opus.payloadType) }
        }
    }

    // MARK: Packets

    /// Takes a packet of the audio section. A packet with another SSRC begins a new stream and ends the previous one.
    mutating func receive(_ header: RTPHeader, _ span: Span<UInt8>, clock: inout SenderClock, at now: Instant) {
        if stream?.ssrc != header.ssrc {
            if let old = stream?.ssrc { clock.forget(ssrc: old) }
            stream = InboundStream(ssrc: header.ssrc, clockRate: Self.clockRate, at: now)
        }
        guard let numbers = stream?.accept(header, bytes: span.count, at: now), !header.payloadRange.isEmpty else {
            return
        }
        let level = levelID.flatMap { header.extension8($0, in: span) }.map { AudioLevel(byte: $0).level }
        let capture = clock.captureTime(
            ssrc: header.ssrc, timestamp: numbers.timestamp, clockRate: Self.clockRate, arrival: now)
        let payload = span.extracting(header.payloadRange)
        let newest = ReceivedAudioPacket(
            payload: [], sequence: numbers.sequence, timestamp: numbers.timestamp, marker: header.marker, level: level,
            captureTime: capture,
            arrival: now, ssrc: header.ssrc)
        if let redundancy, header.payloadType == redundancy.payloadType {
            unpack(payload, newest: newest, opus: redundancy.opus)
        } else {
            append(newest, payload)
        }
    }

    private mutating func unpack(_ payload: Span<UInt8>, newest: ReceivedAudioPacket, opus: UInt8) {
        guard let parsed = RedundantAudio(parsing: payload) else {
            malformed += 1
            return
        }
        for (index, block) in parsed.blocks.enumerated() where block.payloadType == opus && !block.range.isEmpty {
            var packet = newest
            let position = parsed.blocks.count - 1 - index
            if position > 0 {
                let copy = payload.extracting(block.range)
                packet.sequence &-= Int64(Self.distance(of: copy, offset: block.timestampOffset, position: position))
                packet.timestamp &-= Int64(block.timestampOffset)
                packet.captureTime =
                    newest.captureTime - .nanoseconds(Int64(block.timestampOffset) * 1_000_000_000 / Self.clockRate)
                packet.marker = false
                packet.level = nil
                packet.isCopy = true
            }
            append(packet, payload.extracting(block.range))
        }
    }

    /// How many packets before the newest one a copy went out: it has no number of its own. Most senders repeat the
    /// packets right before; some leave packets out between them, which their timestamps show.
    static func distance(of copy: Span<UInt8>, offset: Int, position: Int) -> Int {
        guard let samples = OpusPacket(copy)?.samples, samples > 0, offset % samples == 0 else { return position }
        // Behind a pause of the sender the timestamps are farther apart than the packets.
        let distance = offset / samples
        return distance > position && distance <= farthestCopy ? distance : position
    }

    private static let farthestCopy = 8

    private mutating func append(_ packet: ReceivedAudioPacket, _ payload: Span<UInt8>) {
        var packet = packet
        packet.payload = payload.withUnsafeBufferPointer { Array($0) }
        if !packet.isCopy { frames += 1 }
        packets.append(packet)
    }

    /// The packets that came since the last call, in the order of their arrival.
    mutating func takePackets() -> [ReceivedAudioPacket] {
        guard !packets.isEmpty else { return [] }
        defer { packets.removeAll(keepingCapacity: true) }
        return packets
    }

    /// Forgets an SSRC that lost its place to another one.
    mutating func forget(ssrc: SSRC) {
        if stream?.ssrc == ssrc { stream = nil }
    }

    // MARK: Reports

    /// Takes a sender report; false if it is about another SSRC.
    mutating func receive(_ report: SenderReport, at now: Instant) -> Bool {
        guard stream?.ssrc == report.ssrc else { return false }
        stream?.reception.received(report, at: now)
        return true
    }

    /// The block of the next report, if there is something to report.
    mutating func makeReportBlock(at now: Instant) -> ReportBlock? { stream?.reception.makeReportBlock(at: now) }

    /// The counts so far.
    mutating func statistics(at now: Instant) -> ReceivedStatistics {
        var statistics = ReceivedStatistics()
        stream?.fill(&statistics, at: now)
        statistics.codec = stream == nil ? nil : "opus"
        statistics.frames = frames
        return statistics
    }
}
