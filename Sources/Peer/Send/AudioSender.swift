import Basics

/// Payload types of the audio that a peer takes.
struct OutgoingAudio: Sendable, Equatable {
    var payloadType: UInt8
    /// Of packets that carry the one before again (RFC 2198); nil where the peer takes none.
    var redundantPayloadType: UInt8?
}

/// One peer's audio: goes out at once, the pacer does not hold it.
struct AudioSender: Sendable {
    /// What fits beside headers and SRTP's tag into a packet that passes everywhere (1200 bytes of UDP payload).
    private static let maximumPayload = 1100

    var stream: OutgoingStream
    /// Whether each packet carries the one before again, where the peer takes that.
    var repeats = false
    private var format: OutgoingAudio?
    private var extensions = OutgoingExtensions()
    /// What went out last, for the next packet to repeat.
    private var last: (payload: [UInt8], timestamp: Int64)?

    init(stream: OutgoingStream) {
        self.stream = stream
    }

    mutating func configure(_ format: OutgoingAudio?, extensions: OutgoingExtensions) {
        self.format = format
        self.extensions = extensions
    }

    var isConfigured: Bool { format != nil }
    var canRepeat: Bool { format?.redundantPayloadType != nil }

    /// - Parameters:
    ///   - timestamp: room time in 48 kHz.
    ///   - number: the transport-wide number of the packet, where such numbers were agreed on.
    mutating func write(
        _ payload: [UInt8], timestamp: Int64, marker: Bool, level: UInt8?, as number: SequenceNumber,
        into buffer: UnsafeMutableRawBufferPointer, at now: Instant
    ) -> SentPacket? {
        guard let format else { return nil }
        let copy = copy(beside: payload, at: timestamp, format)
        last = repeats ? (payload, timestamp) : nil
        let transport = extensions.transportCC == nil ? nil : number
        var writer = RTPPacketWriter(
            buffer, marker: marker, payloadType: copy?.payloadType ?? format.payloadType,
            sequence: stream.takeSequence(),
            timestamp: stream.timestamp(timestamp), ssrc: stream.ssrc, twoByteExtensions: extensions.needsTwoBytes)
        extensions.write(
            into: &writer, transportSequence: transport, sendTime: OutgoingExtensions.absoluteSendTime(now),
            level: level)
        var payloadBytes = payload.count
        payload.withUnsafeBytes { newest in
            guard let copy else { return writer.append(newest) }
            copy.payload.withUnsafeBytes {
                RedundantAudio.write(
                    copy: $0, age: copy.age, newest: newest, payloadType: format.payloadType, into: &writer)
            }
            payloadBytes += copy.payload.count + RedundantAudio.headerSize
            stream.counters.repeatedPackets += 1
        }
        guard let length = writer.finish() else { return nil }
        stream.counters.packets += 1
        stream.counters.frames += 1
        stream.counters.bytes += length
        stream.counters.payloadBytes += payloadBytes
        stream.meter.add(length, at: now)
        return SentPacket(length: length, numbering: transport == nil ? .unnumbered : .numbered)
    }

    /// The packet before, where this one can carry it. A long pause is between them otherwise, or both together would
    /// be too large.
    private func copy(
        beside payload: [UInt8], at timestamp: Int64, _ format: OutgoingAudio
    ) -> (payload: [UInt8], age: Int64, payloadType: UInt8)? {
        guard repeats, let payloadType = format.redundantPayloadType, let last else { return nil }
        let age = timestamp &- last.timestamp
        guard RedundantAudio.canCarry(last.payload.count, age: age),
            last.payload.count + payload.count <= Self.maximumPayload
        else { return nil }
        return (last.payload, age, payloadType)
    }
}
